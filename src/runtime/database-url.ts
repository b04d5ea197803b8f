import { LaneheadError } from '../core/errors.js';

export const DEFAULT_DATABASE_URL = 'sqlite:./lanehead.db';

export type DatabaseAddress =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'mysql'; readonly url: string };

/**
 * `sqlite:./file.db`, `sqlite:/absolute/file.db`, `sqlite::memory:`, or `mysql://user@host:3306/db?ssl=…`.
 * @throws LaneheadError `invalid_configuration`; the message repeats nothing of it
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '' || path.startsWith('//')) {
      throw new LaneheadError('invalid_configuration', 'sqlite: must be followed by a path');
    }
    return { engine: 'sqlite', path };
  }
  if (url.startsWith('mysql://')) return { engine: 'mysql', url };
  throw new LaneheadError('invalid_configuration', 'its scheme is not supported; use sqlite: or mysql://');
}
