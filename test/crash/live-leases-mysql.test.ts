import { mysqlCrashDatabase } from '../support/crash-database.js';
import { liveLeasesSuite } from './live-leases.js';

liveLeasesSuite('mysql', mysqlCrashDatabase, 1);
