import { describe } from 'vitest';
import { sqliteModelEngine } from './model/model-engine.js';
import { testVerbs } from './model/verbs-property.js';

describe('the verbs on SQLite', () => testVerbs(sqliteModelEngine, 500));
