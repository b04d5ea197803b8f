import { LaneheadError } from '../core/errors.js';

export const DEFAULT_DATABASE_URL = 'sqlite:./lanehead.db';

export type DatabaseAddress =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'mysql'; readonly url: string };

/**
 * `sqlite:./file.db`, `sqlite:/absolute/file.db`, `sqlite::memory:`, or `mysql://user@host:3306/db?ssl=…`.
 * @throws LaneheadError `invalid_configuration`; the message never repeats a password
 */
export function parseDatabaseUrl(url: string): DatabaseAddress {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
    if (path === '' || path.startsWith('//')) {
      throw new LaneheadError('invalid_configuration', 'DATABASE_URL: sqlite: must be followed by a path');
    }
    return { engine: 'sqlite', path };
  }
  if (url.startsWith('mysql://')) return { engine: 'mysql', url };
  const scheme = /^[a-z0-9+.-]*/i.exec(url)?.[0] ?? '';
  throw new LaneheadError(
    'invalid_configuration',
    `DATABASE_URL: scheme ${JSON.stringify(scheme)} is not supported; use sqlite: or mysql://`,
  );
}
