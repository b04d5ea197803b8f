import { describe, expect, test } from 'vitest';
import { checkRoute } from '../../src/executor/route-check.js';
import { packOf } from '../support/work-bench.js';

const pack = packOf(() => undefined, { version: 3 });
const check = (route: string, routeVersion: number, isBehind = false) =>
  checkRoute(pack, { route, routeVersion }, isBehind);

describe('which flow serves a stored item', () => {
  test('[EXE-6] a route serves its own version and those before it', () => {
    expect(check('events', 3)).toEqual({ route: pack.routes.get('events'), outcome: null });
    expect(check('events', 1).route).toBe(pack.routes.get('events'));
  });

  test('[EXE-6] a newer version is given back with a delay, never ended', () => {
    expect(check('events', 4)).toEqual({
      route: null,
      outcome: { kind: 'released', reason: 'route version 4 is newer than 3', delayMs: 5_000 },
    });
  });

  test('[EXE-6] a route that a newer version of the pack may have brought is given back, never ended', () => {
    const reason = 'pack bench 1.0.0 does not know route brought yet';
    expect(check('brought', 1, true)).toEqual({
      route: null,
      outcome: { kind: 'released', reason, delayMs: 5_000 },
    });
    expect(check('events', 3, true).route).toBe(pack.routes.get('events'));
  });

  test.each([
    ['gone', 1, 'route_gone'],
    ['events', 0, 'route_version_invalid'],
    ['events', 1.5, 'route_version_invalid'],
    ['events', Number.NaN, 'route_version_invalid'],
  ])('[EXE-6] %s, version %d ends with a record: %s', (route, version, code) => {
    expect(check(route, version)).toMatchObject({ outcome: { kind: 'dead', error: { code } } });
  });
});
