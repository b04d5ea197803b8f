import { mysqlEngine } from '../support/mysql-engine.js';
import { describeStress } from './stress-cases.js';
import { PATIENT } from './stress-options.js';

describeStress(mysqlEngine('MariaDB at READ COMMITTED', PATIENT));
