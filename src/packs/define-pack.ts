import type { z } from 'zod';
import { LaneheadError } from '../core/errors.js';
import type { Limit, Limits } from '../core/limits.js';
import { packSchema } from './pack-schema.js';
import { faultsOf } from './schema-parts.js';
import type { Pack, PackInput, Route, RouteInput } from './types.js';

type Head = Pick<PackInput, 'name' | 'version' | 'limits'>;
type IsUnion<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? false : true) : never;
type OnlyRoute<Routes> = IsUnion<keyof Routes> extends false ? unknown : never;

/**
 * A pack from what its author wrote: checked as a whole, every default filled in, frozen.
 *
 * `ctx.prefetched` in a flow has the type that the route's `batchRead` returns. In a pack of several routes, wrap
 * a route in `defineRoute` where its `batchRead` takes parameters whose types are not written down: TypeScript
 * does not infer one route from another field of it there, and `prefetched` would be `unknown`.
 * @throws LaneheadError `invalid_pack` that names every wrong or unknown field.
 */
export function definePack<Prefetched, Routes extends Record<string, unknown>>(
  input: Head & {
    readonly routes: { readonly [Name in keyof Routes]: RouteInput<Prefetched> } & OnlyRoute<Routes>;
  },
): Pack;
export function definePack<Prefetched extends Record<string, unknown>>(
  input: Head & { readonly routes: { readonly [Name in keyof Prefetched]: RouteInput<Prefetched[Name]> } },
): Pack;
export function definePack(input: unknown): Pack {
  const result = packSchema.safeParse(input);
  if (!result.success) {
    throw new LaneheadError('invalid_pack', faultsOf(result.error, 'pack').join('; '));
  }
  const { name, version, limits, routes } = result.data;
  const named = Object.entries(routes).map(([route, parts]) => [route, frozenRoute(route, parts)] as const);
  return Object.freeze({ name, version, limits: limits && frozenLimits(limits), routes: frozenMap(named) });
}

/** A route by itself, for what `definePack` says about inference, and to share routes between packs. */
export function defineRoute<Prefetched>(input: RouteInput<Prefetched>): RouteInput<Prefetched> {
  return input;
}

type RouteParts = z.output<typeof packSchema>['routes'][string];

function frozenRoute(name: string, parts: RouteParts): Route {
  const retry = Object.freeze({ ...parts.retry });
  const ack = parts.ack && Object.freeze(parts.ack);
  // The schema knows the callbacks as functions; their types are the overloads' business.
  return Object.freeze({ name, ...parts, retry, ack }) as Route;
}

function frozenLimits(limits: Limits): Limits {
  const frozen = ({ rate, concurrency }: Limit): Limit =>
    Object.freeze({ rate: rate && Object.freeze(rate), concurrency });
  const { pack, namespace, source } = limits;
  return Object.freeze({
    pack: pack && frozen(pack),
    namespace: namespace && frozen(namespace),
    source: source && frozen(source),
  });
}

/** Frozen against its own methods too, which `Object.freeze` does not do for a Map. */
function frozenMap<Key, Value>(entries: readonly (readonly [Key, Value])[]): ReadonlyMap<Key, Value> {
  const refuse = (): never => {
    throw new TypeError('a pack is frozen');
  };
  const map = new Map(entries);
  for (const method of ['set', 'delete', 'clear']) Object.defineProperty(map, method, { value: refuse });
  return Object.freeze(map);
}
