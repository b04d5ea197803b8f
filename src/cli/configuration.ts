import { isIP } from 'node:net';
import { QUEUE_PROFILES } from '../core/work.js';
import { admissionSettings, MAX_WAIT_MS } from '../runtime/admission-settings.js';
import { parseDatabaseUrl } from '../runtime/database-url.js';
import {
  isAddressOrRange,
  type LaneheadOptions,
  MAX_BODY_BYTES,
  NAMESPACE,
  ROLES,
  type Role,
} from '../runtime/options.js';
import { parseMysqlUrl } from '../store/dialects/mysql/url.js';
import { type Environment, type Setting, SettingsReader } from './settings-reader.js';

/** What `serve` and `dev` take on the command line, as text. */
export interface ServeFlags {
  readonly db?: string;
  readonly namespace?: readonly string[];
  readonly role?: string;
  readonly host?: string;
  readonly port?: string;
  readonly adminPort?: string;
  readonly unsafeDurability?: boolean;
}

export interface Defaults {
  readonly databaseUrl: string;
  /** Empty: the user must name one. */
  readonly namespaces: readonly string[];
}

export interface Configuration {
  readonly options: Omit<LaneheadOptions, 'packs' | 'logger'> & {
    readonly databaseUrl: string;
    readonly listen: { readonly host: string; readonly port: number };
  };
  /** What flows in flight get to end in when the process is told to stop. */
  readonly stopTimeoutMs: number;
  /** Settings that are accepted and that this version does nothing with. */
  readonly notices: readonly string[];
}

const MAX_POOL_SIZE = 10_000;
/** A timer's longest delay. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const MAX_DAYS = 36_500;

/**
 * Everything a serving process is told by flags and environment; flags win.
 * @throws InvalidSettings that names every wrong setting at once
 */
export function readConfiguration(
  flags: ServeFlags,
  environment: Environment,
  defaults: Defaults,
): Configuration {
  const reader = new SettingsReader(environment);
  const configuration = readAll(reader, flags, defaults);
  reader.refuseUnknown();
  reader.settle();
  return configuration;
}

/** For commands that need the database alone. @throws InvalidSettings */
export function readDatabaseUrl(
  flag: string | undefined,
  environment: Environment,
  otherwise: string,
): string {
  const reader = new SettingsReader(environment);
  const databaseUrl = database(reader, flag, otherwise);
  reader.settle();
  return databaseUrl;
}

/** Every variable that `readConfiguration` understands. */
export function knownVariables(): readonly string[] {
  const reader = new SettingsReader({});
  readAll(reader, {}, { databaseUrl: 'sqlite:./x.db', namespaces: ['x'] });
  return [...reader.known];
}

function readAll(reader: SettingsReader, flags: ServeFlags, defaults: Defaults): Configuration {
  const trustProxy = reader.list(
    reader.find('LANEHEAD_TRUST_PROXY'),
    isAddressOrRange,
    'an address or a CIDR range',
  );
  const maxBodyBytes = reader.integer(reader.find('LANEHEAD_MAX_BODY_BYTES'), 1, MAX_BODY_BYTES);
  return {
    options: {
      databaseUrl: database(reader, flags.db, defaults.databaseUrl),
      namespaces: namespaces(reader, flags.namespace, defaults.namespaces),
      role: role(reader, flags.role),
      ...addresses(reader, flags),
      drain: drain(reader),
      ...pools(reader),
      admission: admission(reader),
      trustProxy,
      ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
      ...withoutUndefined({
        stageTiming: either(reader, 'INBOUND_STAGE_TIMING', 'STAGE_TIMING', (setting) =>
          reader.yesOrNo(setting),
        ),
        trustTraceparent: reader.yesOrNo(reader.find('LANEHEAD_TRUST_TRACEPARENT')),
      }),
      unsafeDurability: flags.unsafeDurability ?? false,
    },
    stopTimeoutMs: reader.integer(reader.find('LANEHEAD_STOP_TIMEOUT_MS'), 0, MAX_TIMER_MS) ?? 30_000,
    notices: [...adminToken(reader), ...horizons(reader)],
  };
}

function pools(reader: SettingsReader): Pick<LaneheadOptions, 'poolSize' | 'admissionPoolSize'> {
  return withoutUndefined({
    poolSize: reader.integer(reader.find('LANEHEAD_POOL_SIZE'), 1, MAX_POOL_SIZE),
    admissionPoolSize: reader.integer(reader.find('LANEHEAD_ADMISSION_POOL_SIZE'), 1, MAX_POOL_SIZE),
  });
}

function admission(reader: SettingsReader): NonNullable<LaneheadOptions['admission']> {
  const target = reader.find('LANEHEAD_TARGET_WAIT_MS');
  const given = withoutUndefined({
    targetWaitMs: reader.integer(target, 1, MAX_WAIT_MS),
    commitDeadlineMs: reader.integer(reader.find('LANEHEAD_COMMIT_DEADLINE_MS'), 1, MAX_WAIT_MS),
  });
  const { targetWaitMs, commitDeadlineMs } = admissionSettings(given);
  if (2 * targetWaitMs > commitDeadlineMs) {
    const [least, most] = ['LANEHEAD_TARGET_WAIT_MS', 'LANEHEAD_COMMIT_DEADLINE_MS'] as const;
    if (target !== null)
      reader.refuse(target, `must be at most half of ${most}, which is ${commitDeadlineMs}`);
    else
      reader.refuse(
        { name: most, isFlag: false },
        `must be at least twice ${least}, which is ${targetWaitMs}`,
      );
  }
  return given;
}

function database(reader: SettingsReader, flag: string | undefined, otherwise: string): string {
  const setting = reader.findSecret('DATABASE_URL', { name: '--db', text: flag });
  if (setting === null) return otherwise;
  if (!/^(sqlite:|mysql:\/\/)/.test(setting.text)) {
    reader.refuse(setting, 'must be sqlite:<path> or mysql://user@host:3306/database');
    return otherwise;
  }
  try {
    const address = parseDatabaseUrl(setting.text);
    if (address.engine === 'mysql') parseMysqlUrl(address.url);
  } catch (error) {
    // Both parsers begin with the name of what they parse and repeat no password.
    reader.refuse(setting, (error as Error).message.replace(/^(DATABASE_URL|database URL): /, ''));
  }
  return setting.text;
}

function namespaces(
  reader: SettingsReader,
  flags: readonly string[] | undefined,
  otherwise: readonly string[],
): readonly string[] {
  const setting = reader.find('LANEHEAD_NAMESPACES', { name: '--namespace', text: flags?.join(',') });
  const isNamespace = (name: string): boolean => NAMESPACE.test(name);
  const names = reader.list(setting, isNamespace, `a namespace: it must match ${NAMESPACE.source}`);
  if (names.length > 0) return names;
  if (setting === null && otherwise.length === 0) {
    reader.refuse({ name: '--namespace', isFlag: true }, 'name at least one, or set LANEHEAD_NAMESPACES');
  }
  return otherwise;
}

function role(reader: SettingsReader, flag: string | undefined): Role {
  const known = ROLES.find((one) => one === (flag ?? 'all'));
  if (known === undefined)
    reader.refuse({ name: '--role', isFlag: true }, `must be one of ${ROLES.join(', ')}`);
  return known ?? 'all';
}

function addresses(
  reader: SettingsReader,
  flags: ServeFlags,
): { listen: { host: string; port: number }; admin: { port: number } } {
  const host = reader.find('LANEHEAD_HOST', { name: '--host', text: flags.host });
  if (host !== null && !isHost(host.text)) reader.refuse(host, 'must be an IP address or a host name');
  const port = reader.find('LANEHEAD_PORT', { name: '--port', text: flags.port });
  const adminPort = reader.find('LANEHEAD_ADMIN_PORT', { name: '--admin-port', text: flags.adminPort });
  const listen = { host: host?.text ?? '127.0.0.1', port: reader.integer(port, 0, 65_535) ?? 8420 };
  const admin = { port: reader.integer(adminPort, 0, 65_535) ?? 8421 };
  if (admin.port === listen.port && admin.port !== 0) {
    const blamed = adminPort ?? port ?? { name: '--admin-port', isFlag: true };
    reader.refuse(blamed, 'the port for health and metrics must not be the port for webhooks');
  }
  return { listen, admin };
}

function drain(reader: SettingsReader): NonNullable<LaneheadOptions['drain']> {
  const integer = (most: number) => (setting: Setting | null) => reader.integer(setting, 1, most);
  return withoutUndefined({
    // FLG-1: above the conservative default it is kept, and the supervisor logs that it is unsafe.
    workersPerPack: either(reader, 'INBOUND_WORKERS_PER_PACK', 'WORKERS_PER_PACK', integer(10_000)),
    maxProcessingRows: either(
      reader,
      'INBOUND_MAX_PROCESSING_ROWS',
      'MAX_PROCESSING_ROWS',
      integer(1_000_000),
    ),
    queueProfile: either(reader, 'INBOUND_QUEUE_PROFILE', 'QUEUE_PROFILE', (setting) =>
      reader.oneOf(setting, QUEUE_PROFILES),
    ),
    // A call that ignores its abort is abandoned after twice this, which is a timer too.
    flowDeadlineMs: either(
      reader,
      'FLOW_DEADLINE_MS',
      'FLOW_DEADLINE_MS',
      integer(Math.floor(MAX_TIMER_MS / 2)),
    ),
    leaseMs: reader.integer(reader.find('LANEHEAD_LEASE_MS'), 100, MAX_TIMER_MS),
  });
}

const either = <Value>(
  reader: SettingsReader,
  contract: string,
  own: string,
  read: (setting: Setting | null) => Value | undefined,
): Value | undefined => reader.either(`NEXUSCRM_CONNECTOR_${contract}`, `LANEHEAD_${own}`, read);

function adminToken(reader: SettingsReader): string[] {
  const token = reader.findSecret('LANEHEAD_ADMIN_TOKEN');
  if (token === null) return [];
  if (!/^[\x21-\x7e]+$/.test(token.text)) reader.refuse(token, 'must be printable ASCII without spaces');
  return [
    `${token.name} is set; the admin listener of this version serves health and metrics alone, on loopback, without a token`,
  ];
}

function horizons(reader: SettingsReader): string[] {
  const retention = reader.find('LANEHEAD_RETENTION_DAYS');
  const idempotency = reader.find('LANEHEAD_IDEMPOTENCY_DAYS');
  const retentionDays = reader.integer(retention, 1, MAX_DAYS);
  const idempotencyDays = reader.integer(idempotency, 1, MAX_DAYS);
  if (idempotency !== null && (idempotencyDays ?? MAX_DAYS) < (retentionDays ?? 0)) {
    reader.refuse(idempotency, 'must not be below LANEHEAD_RETENTION_DAYS');
  }
  return [retention, idempotency]
    .filter((setting) => setting !== null)
    .map((setting) => `${setting.name} is set; this version prunes nothing, so everything is kept`);
}

const isHost = (text: string): boolean =>
  isIP(text) !== 0 || /^(?!-)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})*$/i.test(text);

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function withoutUndefined<T extends object>(values: T): Defined<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Defined<T>;
}
