import { mysqlCrashDatabase } from '../support/crash-database.js';
import { testStartStop } from './start-stop.js';

testStartStop(mysqlCrashDatabase, 'MariaDB', 300);
