import { mysqlEngine } from '../support/mysql-engine.js';
import { describeStore } from './store-suite.js';

describeStore(mysqlEngine('MariaDB at READ COMMITTED'));
