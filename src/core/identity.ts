import { createHash } from 'node:crypto';

/**
 * SHA-256 over parts that cannot collide by concatenation: every part is preceded by its length in bytes.
 * `['ab','c']` and `['a','bc']` differ, and so do `['a']` and `['a','']`.
 */
export function digestParts(parts: readonly (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part;
    hash.update(`${bytes.length}:`);
    hash.update(bytes);
  }
  return hash.digest();
}

export function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Where a key belongs. Idempotency, lanes and projections of two scopes never meet. */
export interface Scope {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
}

const LANE_DIGEST_CHARACTERS = 32;

function scopedKey(prefix: string, scope: Scope, key: string): string {
  const digest = digestParts([prefix, scope.namespace, scope.pack, scope.route, key]);
  return `${prefix}:${digest.toString('base64url').slice(0, LANE_DIGEST_CHARACTERS)}`;
}

/** `src:` lane: one source of a route. Fixed length, so that no provider can widen an index. */
export const sourceLaneKey = (scope: Scope, sourceKey: string): string => scopedKey('src', scope, sourceKey);
/** `dlv:` lane: one delivery of a `strict` route. */
export const deliveryLaneKey = (scope: Scope, deliveryKey: string): string =>
  scopedKey('dlv', scope, deliveryKey);
/** `tgt:` lane: one mutation target; shared by the routes of a pack, because the target is. */
export const targetLaneKey = (scope: Scope, targetKey: string): string =>
  scopedKey('tgt', { ...scope, route: '' }, targetKey);
/** `csp:` lane and projection key: all generations of one source projection (PRJ). */
export const projectionLaneKey = (scope: Scope, projectionKey: string): string =>
  scopedKey('csp', scope, projectionKey);

/** The 32 bytes that decide whether two events are the same fact (MAT-4). */
export function idempotencyKey(scope: Scope, parts: readonly string[]): Buffer {
  return digestParts(['idempotency', scope.namespace, scope.pack, scope.route, ...parts]);
}
