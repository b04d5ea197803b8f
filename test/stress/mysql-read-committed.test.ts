import { mysqlEngine } from '../support/mysql-engine.js';
import { describeStress } from './stress-cases.js';

describeStress(mysqlEngine('MariaDB at READ COMMITTED'));
