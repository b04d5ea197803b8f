import { LaneheadError } from '../core/errors.js';
import { isStrayPromise } from './thenable.js';
import type { SecretScope, SecretSource } from './types.js';

/**
 * The usable secrets of a scope, newest first or however the source lists them; empty when there are none. A
 * function is asked every time, so that a rotation needs no restart; one that throws has no secret to give.
 */
export function secretsOf(source: SecretSource, scope: SecretScope): readonly string[] {
  return listed(source, scope).filter(isUsable);
}

/**
 * Refuses to start without a secret; nothing in the message comes from the source.
 * @throws LaneheadError `invalid_configuration` naming namespace, pack and route.
 */
export function requireSecrets(
  source: SecretSource,
  scope: SecretScope,
  what = 'secret',
  accepts: (secret: string) => boolean = isUsable,
): void {
  const secrets = listed(source, scope);
  if (secrets.length === 0 || !secrets.every(isUsable))
    throw unusable(scope, what, 'is undefined, empty or no text');
  if (!secrets.every(accepts)) throw unusable(scope, what, 'is not in the form this scheme needs');
}

export function unusable(scope: SecretScope, what: string, problem: string): LaneheadError {
  const where = `namespace ${scope.namespace}, pack ${scope.pack}, route ${scope.route}`;
  return new LaneheadError('invalid_configuration', `${where}: the ${what} ${problem}`);
}

/** What the source lists, holes included: an empty member is a mistake that `requireSecrets` must see. */
function listed(source: SecretSource, scope: SecretScope): readonly unknown[] {
  const given: unknown = typeof source === 'function' ? ask(source, scope) : source;
  if (given === undefined || given === null || isStrayPromise(given)) return [];
  return Array.isArray(given) ? given : [given];
}

function ask(source: (scope: SecretScope) => unknown, scope: SecretScope): unknown {
  try {
    return source({ namespace: scope.namespace, pack: scope.pack, route: scope.route });
  } catch {
    return undefined;
  }
}

function isUsable(secret: unknown): secret is string {
  return typeof secret === 'string' && secret.trim() !== '';
}
