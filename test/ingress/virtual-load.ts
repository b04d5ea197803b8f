import { idMaker } from '../../src/core/ids.js';
import type { Random } from '../../src/core/random.js';
import { systemRandom } from '../../src/core/system.js';
import { routesOf } from '../../src/ingress/route-table.js';
import { createIngress, type IngressOptions } from '../../src/ingress/server.js';
import type { Pack } from '../../src/packs/types.js';
import type { InstalledPack, MaterializeRequest, ReceiptDraft } from '../../src/store/store.js';
import { DecisionCounts } from '../support/decision-counts.js';
import { ManualClock } from '../support/manual-clock.js';
import { ingressOptions, sign, testPack } from './ingress-fixture.js';

/** How long the store takes for one commit. */
export type CommitMs = (receipts: readonly ReceiptDraft[]) => number;

export interface VirtualLoadOptions extends Partial<IngressOptions> {
  readonly pack?: Pack;
  readonly clock?: ManualClock;
}

export interface Sent {
  readonly status: number;
  readonly code: string;
  readonly retryAfterSeconds: number;
  /** From sending to the answer, virtual. */
  readonly waitedMs: number;
}

/** Of keys that end with a number behind `#`. */
const REPOSITORIES = 20;

/** Every second draw is high: no run differs from another. */
function drawn(): Random {
  let word = 1;
  return {
    ...systemRandom(),
    float: () => {
      word = (Math.imul(word, 1_664_525) + 1_013_904_223) >>> 0;
      return word / 2 ** 32;
    },
  };
}

/**
 * An ingress on virtual time in front of a store that takes one commit at a time, each as long as it is told to: what
 * SQLite is, without the disk. Requests come in through `handle`.
 */
export class VirtualLoad {
  readonly clock: ManualClock;
  /** Delivery keys in the order of their commits. */
  readonly stored: string[] = [];
  readonly counts = new DecisionCounts();
  readonly #ingress;
  #store: Promise<unknown> = Promise.resolve();
  #ordinal = 0;
  /** What was not yet answered. */
  open = 0;

  constructor(commitMs: CommitMs, options: VirtualLoadOptions = {}) {
    const { pack = testPack, clock = new ManualClock(), ...overrides } = options;
    this.clock = clock;
    const installed = ['acme', 'globex', 'initech'].map(
      (namespace, place): InstalledPack =>
        ({ packId: place + 1, namespace, pack: pack.name, status: 'active', generation: 1 }) as InstalledPack,
    );
    this.#ingress = createIngress({
      ...ingressOptions(),
      clock: this.clock,
      random: drawn(),
      newId: idMaker(this.clock, systemRandom()),
      store: { materialize: (request) => this.#materialize(request, commitMs) },
      resolve: routesOf(installed.map((one) => ({ pack, installed: one }))),
      onDecision: this.counts.observe,
      ...overrides,
    });
  }

  async send(path: string, key: string, init: RequestInit = {}): Promise<Sent> {
    const since = this.clock.monotonic();
    const body = JSON.stringify({ repository: `acme/${Number(key.split('#')[1] ?? 0) % REPOSITORIES}`, key });
    const headers = { 'x-hub-signature-256': sign(body), 'x-github-delivery': key, ...init.headers };
    this.open += 1;
    const response = await this.#ingress.handle(
      new Request(`http://test${path}`, { method: 'POST', body, ...init, headers }),
    );
    this.open -= 1;
    const problem = response.status === 503 ? ((await response.json()) as { code: string }) : { code: '' };
    return {
      status: response.status,
      code: problem.code,
      retryAfterSeconds: Number(response.headers.get('retry-after') ?? 0),
      waitedMs: this.clock.monotonic() - since,
    };
  }

  #materialize(request: MaterializeRequest, commitMs: CommitMs) {
    const commit = this.#store.then(async () => {
      await this.clock.sleep(commitMs(request.receipts));
      for (const receipt of request.receipts) this.stored.push(receipt.events[0]!.deliveryKey);
      return request.receipts.map(({ receiptId }) => ({
        receiptId,
        events: 1,
        duplicate: false,
        conflict: false,
        quarantined: false,
        ordinal: this.#ordinal++,
      }));
    });
    this.#store = commit;
    return commit;
  }
}
