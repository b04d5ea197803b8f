import { z } from 'zod';
import { DEFAULT_RETRY } from '../core/retry.js';
import { anyOf, evenWithOtherFaults, text } from './schema-parts.js';
import type { SignatureScheme } from './types.js';

const DAY_MS = 86_400_000;

/** SemVer 2.0.0, without its length. */
const SEMVER =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$/;
const MEDIA_TYPE = /^[!#$&^_.+\w-]+\/[!#$&^_.+\w-]+( *;[\t\x20-\x7e]*)?$/;

const name = text.regex(
  /^[a-z0-9][a-z0-9_-]{0,63}$/,
  'must be 1 to 64 of a-z, 0-9, "-" and "_", starting with a letter or digit',
);

function integer(least: number, most: number) {
  const low = `must be an integer of at least ${least}`;
  return z.int(low).min(least, low).max(most, `must be at most ${most}`);
}

function callback<T>() {
  return z.custom<T>((value) => typeof value === 'function', 'must be a function');
}

const scheme = z.custom<SignatureScheme>(
  isScheme,
  'must be a signature scheme, as signatures.github(…) returns',
);

function isScheme(value: unknown): boolean {
  const parts = value as Partial<SignatureScheme> | null | undefined;
  return (
    typeof parts === 'object' &&
    typeof parts?.name === 'string' &&
    Array.isArray(parts.methods) &&
    parts.methods.length > 0 &&
    typeof parts.prepare === 'function' &&
    typeof parts.verify === 'function'
  );
}

const retry = z
  .strictObject(
    {
      attempts: integer(1, 1_000_000).default(DEFAULT_RETRY.attempts),
      baseMs: integer(1, DAY_MS).optional(),
      maxMs: integer(1, 30 * DAY_MS).optional(),
    },
    'must be an object',
  )
  .refine(inOrder, { ...evenWithOtherFaults, path: ['maxMs'], error: 'must be at least baseMs' })
  .transform(({ attempts, baseMs, maxMs }) => ({
    attempts,
    // The bound that was left out gives way to the one that was given.
    baseMs: baseMs ?? Math.min(DEFAULT_RETRY.baseMs, maxMs ?? DEFAULT_RETRY.baseMs),
    maxMs: maxMs ?? Math.max(DEFAULT_RETRY.maxMs, baseMs ?? DEFAULT_RETRY.maxMs),
  }));

function inOrder(policy: {
  readonly baseMs?: number | undefined;
  readonly maxMs?: number | undefined;
}): boolean {
  const { baseMs, maxMs } = policy;
  return typeof baseMs !== 'number' || typeof maxMs !== 'number' || maxMs >= baseMs;
}

const limit = z
  .strictObject(
    {
      rate: z
        .strictObject(
          {
            count: integer(1, 1_000_000),
            perMs: integer(1, 31 * DAY_MS),
            burst: integer(1, 1_000_000).default(1),
          },
          'must be an object',
        )
        .refine(({ count, burst }) => burst <= count, {
          ...evenWithOtherFaults,
          path: ['burst'],
          error: 'must be at most count',
        })
        .nullable()
        .default(null),
      concurrency: integer(1, 1_000_000).nullable().default(null),
    },
    'must be an object',
  )
  .refine(({ rate, concurrency }) => rate !== null || concurrency !== null, {
    ...evenWithOtherFaults,
    error: 'must have a rate, a concurrency, or both',
  });

const limits = z.strictObject(
  {
    pack: limit.nullable().default(null),
    namespace: limit.nullable().default(null),
    source: limit.nullable().default(null),
  },
  'must be an object',
);

const ack = z
  .strictObject(
    {
      status: integer(200, 299),
      body: text,
      contentType: text.regex(MEDIA_TYPE, 'must be a media type, as text/plain'),
    },
    'must be an object',
  )
  // RFC 9110: 204 and 205 have no content, and what is sent all the same garbles the connection.
  .refine(({ status, body }) => body === '' || (status !== 204 && status !== 205), {
    ...evenWithOtherFaults,
    path: ['body'],
    error: 'must be empty with status 204 and 205',
  });

const coalesce = anyOf(['none', 'latest_by_source']).refine(
  (value) => value === 'none',
  'latest_by_source is not available in this version, use none',
);

const materialize = callback().refine(
  (value) => Object.prototype.toString.call(value) !== '[object AsyncFunction]',
  'must be synchronous',
);

const route = z
  .strictObject(
    {
      version: integer(1, 2 ** 31 - 1),
      verify: scheme,
      ordering: anyOf(['source', 'strict', 'none']).default('source'),
      coalesce: coalesce.default('none'),
      materialize,
      retry: retry.default(DEFAULT_RETRY),
      onDead: anyOf(['advance', 'hold']).default('advance'),
      onConflict: anyOf(['hold', 'separate']).default('hold'),
      maxBodyBytes: integer(1, Number.MAX_SAFE_INTEGER).nullable().default(null),
      shed: anyOf(['first', 'normal', 'last']).optional(),
      ack: ack.nullable().default(null),
      batchRead: callback().nullable().default(null),
      flow: callback(),
    },
    'must be an object',
  )
  // What its provider does not send again is refused last.
  .transform((parts) => ({
    ...parts,
    shed: parts.shed ?? (parts.verify.redelivers === false ? ('last' as const) : ('normal' as const)),
  }));

/** What `definePack` takes; the output has every default filled in. */
export const packSchema = z.strictObject(
  {
    name,
    version: text
      .max(64, 'must be at most 64 characters')
      .regex(SEMVER, 'must be a semantic version, as 1.0.0'),
    limits: limits.nullable().default(null),
    routes: z
      .record(name, route, 'must be an object of routes')
      .refine((routes) => Object.keys(routes).length > 0, 'must name at least one route'),
  },
  'must be an object',
);
