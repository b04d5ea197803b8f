/** The product's admission with bounds that a few deliveries reach, and the rules beside it. */
import { idMaker } from '../../src/core/ids.js';
import type { Enqueued } from '../../src/core/work.js';
import { Admission } from '../../src/ingress/admission.js';
import { AdmissionControl } from '../../src/ingress/admission-control.js';
import { GroupCommit } from '../../src/ingress/group-commit.js';
import type { BodyReading } from '../../src/ingress/read-body.js';
import type { ResolveRoute } from '../../src/ingress/route-table.js';
import type { MaterializeRequest, Store } from '../../src/store/store.js';
import { AdmissionRules, type RequestInHand } from './admission-rules.js';
import type { Faults } from './faults.js';
import type { Seeded } from './seeded.js';
import type { VirtualClock } from './virtual-clock.js';
import type { Thread, World } from './world.js';

/** How much a process lets in. */
export interface AdmissionTraits {
  readonly inFlight: number;
  readonly unverified: number;
  /** Of one commit. */
  readonly maxReceipts: number;
  readonly targetMs: number;
  /** The longest that a body takes to arrive. */
  readonly readMs: number;
}

const WIDE: AdmissionTraits = { inFlight: 64, unverified: 64, maxReceipts: 8, targetMs: 500, readMs: 0 };

/** In some worlds a burst of a few reaches every bound. */
export function drawAdmission(random: Seeded): AdmissionTraits {
  if (random.chance(0.5)) return WIDE;
  return {
    inFlight: random.int(4, 8),
    unverified: random.chance(0.5) ? random.int(2, 4) : 64,
    maxReceipts: random.int(1, 4),
    // The shorter, the sooner a line is too long; the longer, the sooner all places are taken.
    targetMs: random.chance(0.5) ? random.int(15, 150) : 2_000,
    readMs: random.int(0, 80),
  };
}

export interface VirtualAdmissionParts {
  readonly world: World;
  readonly faults: Faults;
  readonly main: Thread;
  readonly life: string;
  readonly store: Pick<Store, 'materialize'>;
  readonly resolve: ResolveRoute;
  readonly clock: VirtualClock;
  readonly random: Seeded;
  readonly traits: AdmissionTraits;
  readonly gatherMs: number;
  readonly isDraining: () => boolean;
  readonly onCommitted: (enqueued: Enqueued) => void;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly body: string;
  readonly retryAfter: string | undefined;
}

const BYTES = 2 ** 20;
/** Header that tells the requests of a process apart. */
const ID = 'x-request';
const BROKEN = '"broken":true';

export class VirtualAdmission {
  readonly #parts: VirtualAdmissionParts;
  readonly #rules: AdmissionRules;
  readonly #commits: GroupCommit;
  readonly #control: AdmissionControl;
  readonly #admission: Admission;
  #requests = 0;

  constructor(parts: VirtualAdmissionParts) {
    this.#parts = parts;
    const { resolve, clock, random, traits, isDraining, world, life } = parts;
    const { inFlight, unverified, targetMs } = traits;
    this.#rules = new AdmissionRules(traits, ([kind, why]) => world.violation(kind, life, why));
    this.#commits = this.#openCommits();
    const commits = this.#commits;
    const control = new AdmissionControl({
      clock,
      random,
      inFlight: { requests: inFlight, bytes: BYTES },
      unverified: { requests: unverified, bytes: BYTES },
      shed: { targetMs, burstMs: 3 * targetMs, groupUnits: commits.groupUnits },
      unitsOf: (bytes) => commits.unitsOf(bytes),
      loadOf: (namespace) => commits.loadOf(namespace),
    });
    this.#control = control;
    const newId = idMaker(clock, random);
    this.#admission = new Admission({
      resolve,
      commits,
      control,
      clock,
      newId,
      maxBodyBytes: BYTES,
      isDraining,
    });
  }

  #openCommits(): GroupCommit {
    const { clock, onCommitted, gatherMs, traits } = this.#parts;
    return new GroupCommit({
      materialize: (request) => this.#materialize(request),
      clock,
      onCommitted,
      onFailure: () => undefined,
      gatherMs,
      onCommitEnded: (report) => this.#control.commitEnded(report),
      maxReceipts: traits.maxReceipts,
      deadlineMs: 3_000,
    });
  }

  async #materialize(request: MaterializeRequest): ReturnType<Store['materialize']> {
    const ids = request.receipts.flatMap(({ headers }) =>
      headers.filter(([name]) => name === ID).map(([, id]) => id),
    );
    const ended = this.#rules.commits(request.namespace, ids);
    let failed = true;
    try {
      const result = await this.#parts.store.materialize(request);
      failed = 'refused' in result;
      return result;
    } finally {
      ended(failed);
    }
  }

  /** One request; `null`: its sender went away. */
  async serve(namespace: string, path: string, body: Buffer): Promise<WebhookAnswer | null> {
    const id = String(++this.#requests);
    // What cannot be read is known again by its headers.
    const headers: [string, string][] = body.includes(BROKEN) ? [] : [[ID, id]];
    const head = {
      method: 'POST',
      target: `/in/${namespace}/${path}`,
      headers,
      contentEncoding: undefined,
      bodyBytes: body.length,
      client: () => 'simulated',
    };
    const lineUnits = (of: string): number => this.#commits.loadOf(of).units;
    const request = this.#rules.arrives(namespace, id, { ...this.#control.load, lineUnits });
    const verdict = await this.#admission.decide(head, (_, grow) => this.#read(request, body, grow));
    if (verdict === 'truncated') return null;
    const { answer, decision, shed } = verdict;
    const { status } = answer;
    const retryAfter = answer.headers['retry-after'];
    this.#rules.answered(request, { status, decision, shed, retryAfter });
    if (shed !== undefined) this.#parts.faults.tell(`shed_${shed}`);
    return { status, body: answer.body.toString('utf8'), retryAfter };
  }

  async #read(request: RequestInHand, body: Buffer, grow: (bytes: number) => boolean): Promise<BodyReading> {
    const { world, main, random, traits } = this.#parts;
    if (traits.readMs > 0) await world.wait(random.between(0, traits.readMs), main);
    if (!grow(body.length)) return 'overloaded';
    request.isRead = true;
    return body;
  }
}
