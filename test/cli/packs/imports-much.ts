/** A pack that imports what packs import: a CommonJS package's default, a file of its own, this library. */
import Database from 'better-sqlite3';
import { definePack, signatures } from 'lanehead';
import { routeName } from './route-name.js';

if (typeof Database !== 'function') throw new Error('the default of a CommonJS package is missing');

export default definePack({
  name: 'imports-much',
  version: '1.0.0',
  routes: {
    [routeName]: {
      version: 1,
      verify: signatures.github({ secret: 'known to the test' }),
      materialize: () => ({ deliveries: [] }),
      flow: () => {},
    },
  },
});
