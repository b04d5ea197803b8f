/** The ingress of the product under overload: its one place is taken by a commit that does not end. */
import { pino } from 'pino';
import { idMaker } from '../../src/core/ids.js';
import { systemClock, systemRandom } from '../../src/core/system.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress } from '../../src/ingress/server.js';
import { answerParent } from '../child.js';
import { githubPack, NAMESPACE } from '../github-pack.js';
import { deliveryOf, headersOf, PATH, Pushes } from '../pushes.js';

const pack = githubPack(() => undefined);
const installed = {
  packId: 1,
  namespace: NAMESPACE,
  pack: pack.name,
  version: pack.version,
  generation: 1,
  status: 'active' as const,
};
const random = systemRandom();
let taken: () => void = () => undefined;
const isTaken = new Promise<void>((resolve) => {
  taken = resolve;
});

const ingress = createIngress({
  store: {
    materialize: () => {
      taken();
      return new Promise(() => undefined);
    },
  },
  resolve: routesOf([{ pack, installed }]),
  clock: systemClock,
  random,
  newId: idMaker(systemClock, random),
  log: pino({ level: 'silent' }),
  checks: {},
  onCommitted: () => undefined,
  inFlight: { requests: 1, bytes: 2 ** 24 },
  groupCommit: { deadlineMs: 3_600_000 },
});

answerParent(
  {
    listen: async () => {
      const { url } = await ingress.listen({ host: '127.0.0.1', port: 0 });
      const body = new Pushes(0).body(0, 'the/first');
      void ingress.handle(
        new Request(url + PATH, {
          method: 'POST',
          body: new Uint8Array(body),
          headers: headersOf(body, deliveryOf(0)).filter(([name]) => name !== 'Content-Length'),
        }),
      );
      await isTaken;
      return Number(new URL(url).port);
    },
  },
  () => ingress.close({ timeoutMs: 0 }),
);
