import { sqliteCrashDatabase } from '../support/crash-database.js';
import { gracefulStopSuite } from './graceful-stop.js';

gracefulStopSuite('sqlite', sqliteCrashDatabase);
