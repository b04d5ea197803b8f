import { mysqlEngine } from '../support/mysql-engine.js';
import { describeStore } from './store-suite.js';

// Default from MariaDB 11.6.2 on: a locking read of a row changed since the snapshot fails with 1020.
describeStore(
  mysqlEngine('MariaDB with innodb_snapshot_isolation=ON', {
    isolation: 'repeatable-read',
    snapshotIsolation: true,
  }),
);
