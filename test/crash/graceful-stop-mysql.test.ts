import { mysqlCrashDatabase } from '../support/crash-database.js';
import { gracefulStopSuite } from './graceful-stop.js';

gracefulStopSuite('mysql', mysqlCrashDatabase);
