import { sqliteCrashDatabase } from '../support/crash-database.js';
import { liveLeasesSuite } from './live-leases.js';

liveLeasesSuite('sqlite', sqliteCrashDatabase, 0);
