import { mysqlCrashDatabase } from '../support/crash-database.js';
import { sigkillSuite } from './sigkill-loop.js';

sigkillSuite('mysql', mysqlCrashDatabase);
