import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { LaneheadError } from '../../../core/errors.js';

/**
 * How the connection is encrypted.
 * - `off`: not at all (`ssl=false`, the default).
 * - `unverified`: encrypted, with whatever certificate (`ssl=require`); no protection against an active attacker.
 * - `verify-ca`: the certificate comes from a trusted authority; its host name is not compared (`ssl=verify-ca`).
 * - `verify-full`: and it is made out to this host (`ssl=true`, `ssl=verify-full`).
 */
export type TlsMode = 'off' | 'unverified' | 'verify-ca' | 'verify-full';

export interface MysqlAddress {
  readonly host: string;
  readonly port: number;
  /** A Unix socket instead of host and port. */
  readonly socketPath: string | null;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  readonly tls: TlsMode;
  /** PEM certificates to trust instead of the system's, from the file named by `sslCa`. */
  readonly authorities: string | null;
}

const DEFAULT_PORT = 3306;
const TLS_MODES: Readonly<Record<string, TlsMode>> = {
  false: 'off',
  true: 'verify-full',
  require: 'unverified',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};
const PARAMETERS = ['ssl', 'sslCa', 'socketPath'];

function refuse(problems: readonly string[]): never {
  throw new LaneheadError('invalid_configuration', `database URL: ${problems.join('; ')}`);
}

function parse(text: string): URL {
  if (!/^mysql:\/\//i.test(text)) refuse(['it must start with mysql://']);
  try {
    // An @ behind ? or # means that they belong to a password, which must not be shown as a parameter's name.
    if (/[?#].*@/.test(text)) throw new TypeError('not encoded');
    return new URL(text);
  } catch {
    return refuse([
      'it is not a URL of the form mysql://user:password@host:3306/database; ' +
        'percent-encode the characters @ : / ? # % in user and password',
    ]);
  }
}

/**
 * Reads `mysql://user:password@host:3306/database`, with `?ssl=false|true|require|verify-ca|verify-full`,
 * `?sslCa=<file>` and `?socketPath=<file>`. User and password are percent-decoded.
 * @throws LaneheadError `invalid_configuration` that names every problem and never the password.
 */
export function parseMysqlUrl(text: string): MysqlAddress {
  const url = parse(text);
  const problems: string[] = [];
  const decoded = (what: string, value: string): string => {
    try {
      return decodeURIComponent(value);
    } catch {
      problems.push(`${what} has a broken percent-encoding`);
      return '';
    }
  };
  const user = decoded('the user', url.username);
  const password = decoded('the password', url.password);
  const database = decoded('the database', url.pathname.slice(1));
  if (user === '') problems.push('the user is missing');
  if (database === '') problems.push('the database is missing');
  if (database.includes('/')) problems.push('the database must be one name');
  for (const name of new Set(url.searchParams.keys())) {
    if (!PARAMETERS.includes(name))
      problems.push(`unknown parameter ${name} (known: ${PARAMETERS.join(', ')})`);
    else if (url.searchParams.getAll(name).length > 1) problems.push(`${name} is given twice`);
  }
  const ssl = url.searchParams.get('ssl') ?? 'false';
  const tls = Object.hasOwn(TLS_MODES, ssl) ? TLS_MODES[ssl]! : 'off';
  if (!Object.hasOwn(TLS_MODES, ssl))
    problems.push(`ssl must be one of ${Object.keys(TLS_MODES).join(', ')}`);
  const host = decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  // mysql2 would compare the certificate with "localhost".
  if (tls === 'verify-full' && isIP(host) !== 0)
    problems.push(`ssl=${ssl} needs a host name, not an address`);
  const authorities = readAuthorities(url.searchParams.get('sslCa'), tls, problems);
  const socketPath = url.searchParams.get('socketPath');
  if (socketPath === '') problems.push('socketPath is empty');
  if (host === '' && socketPath === null) problems.push('the host is missing');
  if (problems.length > 0) refuse(problems);
  return {
    host,
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    socketPath,
    user,
    password,
    database,
    tls,
    authorities,
  };
}

function readAuthorities(file: string | null, tls: TlsMode, problems: string[]): string | null {
  if (file === null) return null;
  if (tls !== 'verify-ca' && tls !== 'verify-full')
    problems.push('sslCa needs ssl=verify-full or ssl=verify-ca');
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    problems.push(`sslCa cannot be read (${(error as NodeJS.ErrnoException).code})`);
    return null;
  }
}
