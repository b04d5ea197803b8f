import type { Outcome } from '../core/outcome.js';
import type { Pack, Route } from '../packs/types.js';
import type { ClaimedItem } from '../store/store.js';

/** Long enough for another process of the rolling deploy to take it, short enough not to be noticed after it. */
const NEWER_VERSION_DELAY_MS = 5_000;

export type RouteCheck =
  | { readonly route: Route; readonly outcome: null }
  | { readonly route: null; readonly outcome: Outcome };

/**
 * Which flow serves a stored item (EXE-6). A route serves its own version and all before it: who raises a version
 * keeps the flow able to read what is stored. An item of a newer version is another process's: given back, never
 * ended. One whose route is gone, or whose version never was one, ends with a record.
 * @param isBehind a newer version of the pack is installed: a route that this one does not know may be new in it
 */
export function checkRoute(
  pack: Pack,
  item: Pick<ClaimedItem, 'route' | 'routeVersion'>,
  isBehind: boolean,
): RouteCheck {
  const route = pack.routes.get(item.route);
  if (route === undefined) {
    if (isBehind) return givenBack(`pack ${pack.name} ${pack.version} does not know route ${item.route} yet`);
    return ended('route_gone', `pack ${pack.name} ${pack.version} has no route ${item.route}`);
  }
  if (!Number.isInteger(item.routeVersion) || item.routeVersion < 1) {
    return ended('route_version_invalid', `${item.routeVersion} is not a version of route ${item.route}`);
  }
  if (item.routeVersion > route.version) {
    return givenBack(`route version ${item.routeVersion} is newer than ${route.version}`);
  }
  return { route, outcome: null };
}

function givenBack(reason: string): RouteCheck {
  return { route: null, outcome: { kind: 'released', reason, delayMs: NEWER_VERSION_DELAY_MS } };
}

function ended(code: string, message: string): RouteCheck {
  return { route: null, outcome: { kind: 'dead', error: { code, message } } };
}
