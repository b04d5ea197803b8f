import { isIP } from 'node:net';
import type { Logger } from 'pino';
import { z } from 'zod';
import { LaneheadError } from '../core/errors.js';
import { evenWithOtherFaults, faultsOf } from '../packs/schema-parts.js';
import type { Pack } from '../packs/types.js';
import { type SupervisorInput, supervisorProblems } from '../supervisor/supervisor-settings.js';
import {
  type AdmissionSettings,
  admissionSchema,
  admissionSettings,
  unreadableBodies,
} from './admission-settings.js';
import { DEFAULT_DATABASE_URL, parseDatabaseUrl } from './database-url.js';

/** `all`: admission and drain in one process. `ingress`, `worker`: one of them. */
export type Role = 'all' | 'ingress' | 'worker';

export const ROLES: readonly Role[] = ['all', 'ingress', 'worker'];

export interface LaneheadOptions {
  /** At least one; made by `definePack`. */
  readonly packs: readonly Pack[];
  /** Default `sqlite:./lanehead.db`. */
  readonly databaseUrl?: string;
  /** Tenants; at least one. Lower-case letters, digits, `-`, `_`; part of the URL. Installed if absent. */
  readonly namespaces: readonly string[];
  /** Default `all`. */
  readonly role?: Role;
  /** Where to listen; without it requests come in through `handle` alone. Port 0: any free one. */
  readonly listen?: { readonly host?: string; readonly port: number };
  /** Where health and metrics are served beside it; default: nowhere, and nothing is counted. */
  readonly admin?: { readonly host?: string; readonly port: number };
  /** Slots, budget, lease and deadlines of the drain. */
  readonly drain?: SupervisorInput;
  /** Bounds of what comes in, and how long it may wait for its commit. */
  readonly admission?: Partial<AdmissionSettings>;
  /** Body limit of routes that set none. Default 5 MiB. */
  readonly maxBodyBytes?: number;
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is believed. Default: nobody's. */
  readonly trustProxy?: readonly string[];
  /** Connections on MySQL for the drain and for reads. Default 10. */
  readonly poolSize?: number;
  /** Connections on MySQL that only admission uses (ADM-4). Default 5: as many namespaces commit at one time. */
  readonly admissionPoolSize?: number;
  /** Logs where the time of each request and item goes, and measures it where metrics are served. Default false. */
  readonly stageTiming?: boolean;
  /** A request's trace goes on with the `traceparent` of its sender, whoever that is. Default false: it links to it. */
  readonly trustTraceparent?: boolean;
  /** Accepts settings under which a power cut loses commits. Default false. */
  readonly unsafeDurability?: boolean;
  /** Gets no field under a key that names a secret. Default: silent. */
  readonly logger?: Logger;
}

export interface Settings extends LaneheadOptions {
  readonly admission: AdmissionSettings;
  readonly maxBodyBytes: number;
  readonly databaseUrl: string;
  readonly role: Role;
  readonly poolSize: number;
  readonly admissionPoolSize: number;
  readonly unsafeDurability: boolean;
  readonly stageTiming: boolean;
  readonly trustTraceparent: boolean;
}

export const NAMESPACE = /^[a-z0-9][a-z0-9_-]{0,63}$/;
/** Above the bounds on bytes in hand no body could ever be read. */
export const MAX_BODY_BYTES = 128 * 2 ** 20;
const DEFAULT_MAX_BODY_BYTES = 5 * 2 ** 20;
const MAX_POOL_SIZE = 10_000;

function whole(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  return z.int(error).min(least, error).max(most, error);
}

const pack = z.custom<Pack>(isPack, { error: 'must be made by definePack', abort: false });
const namespace = z.string('must be a string').regex(NAMESPACE, {
  error: `must match ${NAMESPACE.source}`,
});
const host = z.string('must be an address or a host name').min(1, 'must not be empty').optional();
const address = z.strictObject({ host, port: whole(0, 65_535) }, 'must be an object with a port');
const databaseUrl = z.string('must be sqlite:<path> or mysql://…').superRefine((url, context) => {
  try {
    parseDatabaseUrl(url);
  } catch (error) {
    context.addIssue((error as Error).message);
  }
});
const drain = z.record(z.string(), z.unknown(), 'must be an object').superRefine((settings, context) => {
  for (const { name, message } of supervisorProblems(settings)) {
    context.addIssue({ code: 'custom', path: [name], message });
  }
});
const logger = z.custom<Logger>(isLogger, { error: 'must be a pino logger', abort: false });
const proxies = z.array(
  z.string('must be a string').refine(isAddressOrRange, 'must be an address or a CIDR range'),
  'must be a list of addresses and CIDR ranges',
);

const optionsSchema = z
  .strictObject(
    {
      packs: z.array(pack, 'must be a list of packs').min(1, 'at least one is needed'),
      databaseUrl: databaseUrl.optional(),
      namespaces: z.array(namespace, 'must be a list of names').min(1, 'at least one is needed'),
      role: z.enum(ROLES, { error: `must be one of ${ROLES.join(', ')}` }).optional(),
      listen: address.optional(),
      admin: address.optional(),
      drain: drain.optional(),
      admission: admissionSchema.optional(),
      maxBodyBytes: whole(1, MAX_BODY_BYTES).optional(),
      trustProxy: proxies.optional(),
      poolSize: whole(1, MAX_POOL_SIZE).optional(),
      admissionPoolSize: whole(1, MAX_POOL_SIZE).optional(),
      stageTiming: z.boolean('must be true or false').optional(),
      trustTraceparent: z.boolean('must be true or false').optional(),
      unsafeDurability: z.boolean('must be true or false').optional(),
      logger: logger.optional(),
    },
    'must be an object',
  )
  .superRefine(({ packs }, context) => {
    for (const name of namesGivenTwice(packs)) {
      context.addIssue({
        code: 'custom',
        path: ['packs'],
        message: `${JSON.stringify(name)} is given twice`,
      });
    }
  }, evenWithOtherFaults)
  .superRefine(({ packs, maxBodyBytes = DEFAULT_MAX_BODY_BYTES, admission }, context) => {
    if (!Array.isArray(packs) || !packs.every(isPack)) return;
    for (const message of unreadableBodies(packs, maxBodyBytes, admission as Partial<AdmissionSettings>)) {
      context.addIssue({ code: 'custom', path: ['admission'], message });
    }
  }, evenWithOtherFaults)
  .refine(({ listen, admin }) => !listen?.port || listen.port !== admin?.port, {
    ...evenWithOtherFaults,
    path: ['admin.port'],
    error: 'must not be the port for webhooks',
  });

/** Defaults filled in. @throws LaneheadError `invalid_configuration` that names everything wrong at once */
export function settingsOf(options: LaneheadOptions): Settings {
  const { error } = optionsSchema.safeParse(options);
  if (error !== undefined)
    throw new LaneheadError('invalid_configuration', faultsOf(error, 'options').join('; '));
  return {
    ...options,
    databaseUrl: options.databaseUrl ?? DEFAULT_DATABASE_URL,
    role: options.role ?? 'all',
    admission: admissionSettings(options.admission),
    maxBodyBytes: options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES,
    poolSize: options.poolSize ?? 10,
    admissionPoolSize: options.admissionPoolSize ?? 5,
    unsafeDurability: options.unsafeDurability ?? false,
    stageTiming: options.stageTiming ?? false,
    trustTraceparent: options.trustTraceparent ?? false,
  };
}

function isPack(value: unknown): boolean {
  const { name, version, routes } = (value ?? {}) as Partial<Pack>;
  return typeof name === 'string' && typeof version === 'string' && routes instanceof Map;
}

function isLogger(value: unknown): boolean {
  const methods = (value ?? {}) as Partial<Record<string, unknown>>;
  return LOG_METHODS.every((name) => typeof methods[name] === 'function');
}

/** Those that the runtime calls. */
const LOG_METHODS = ['debug', 'info', 'warn', 'error', 'isLevelEnabled'];

function namesGivenTwice(packs: unknown): string[] {
  if (!Array.isArray(packs)) return [];
  const names: string[] = packs.filter(isPack).map((pack: Pack) => pack.name);
  return [...new Set(names.filter((name, place) => names.indexOf(name) !== place))];
}

/** As the listener understands it; `10.1` is an address to some parsers, and not the one that was meant. */
export function isAddressOrRange(text: string): boolean {
  const [, address, bits] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const version = isIP(address ?? '');
  return version !== 0 && Number(bits ?? 0) <= (version === 4 ? 32 : 128);
}
