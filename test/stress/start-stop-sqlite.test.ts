import { sqliteCrashDatabase } from '../support/crash-database.js';
import { testStartStop } from './start-stop.js';

testStartStop(sqliteCrashDatabase, 'SQLite', 1_000);
