import { describe } from 'vitest';
import { mariadbModelEngine } from '../model/model-engine.js';
import { testVerbs } from '../model/verbs-property.js';

describe('the verbs on MariaDB', () => testVerbs(mariadbModelEngine, 25));
