import { sqliteEngine } from '../support/sqlite-engine.js';
import { describeStore } from './store-suite.js';

describeStore(sqliteEngine);
