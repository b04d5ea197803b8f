import { sqliteEngine } from '../support/sqlite-engine.js';
import { describeStress } from './stress-cases.js';

describeStress(sqliteEngine);
