import { mysqlEngine } from '../support/mysql-engine.js';
import { describeStore } from './store-suite.js';

describeStore(mysqlEngine('MariaDB at REPEATABLE READ', { isolation: 'repeatable-read' }));
