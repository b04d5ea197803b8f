import { sqliteCrashDatabase } from '../support/crash-database.js';
import { sigkillSuite } from './sigkill-loop.js';

sigkillSuite('sqlite', sqliteCrashDatabase);
