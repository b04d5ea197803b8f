import type { ClaimRequest, InstalledPack, ReceiptDraft } from '../../../src/store/store.js';
import { draftReceipt, type EventSketch, type ReceiptSketch } from '../../support/drafts.js';
import type { ModelEngine } from './model-engine.js';
import type { Admission, ModelClaim } from './queue-model.js';

/** A receipt in a command: its ids are given when the command runs, and its times count from then. */
export interface SketchInput extends Omit<ReceiptSketch, 'events' | 'quarantine'> {
  readonly delivery: string;
  readonly body: string;
  readonly quarantined?: boolean;
  readonly events: readonly (Omit<EventSketch, 'runAfter'> & {
    readonly source: string;
    readonly inHours?: number;
  })[];
}

let runs = 0;

/** One run of a script of commands: a pack of its own on a real store, and what was done with it so far. */
export class ModelBench {
  readonly engine: ModelEngine;
  pack: InstalledPack;
  lastAdmissions: readonly Admission[] = [];
  readonly #run: number;
  #ids = 0;

  private constructor(engine: ModelEngine, pack: InstalledPack, run: number) {
    this.engine = engine;
    this.pack = pack;
    this.#run = run;
  }

  static async start(engine: ModelEngine): Promise<ModelBench> {
    await engine.restart();
    const run = ++runs;
    const [pack] = await engine.store.installPacks([
      { namespace: 'acme', pack: `model-${run}`, version: '1.0.0' },
    ]);
    return new ModelBench(engine, pack!, run);
  }

  /** Rises with every call, as text too. */
  newId(kind: string): string {
    return `${kind}_${this.#run}_${String(++this.#ids).padStart(5, '0')}`;
  }

  // ── from commands to requests ────────────────────────────────────────────────────────────────────────────

  admissionOf(sketch: SketchInput, now: number, receiptId = this.newId('rcp')): Admission {
    const { quarantined, events, ...rest } = sketch;
    return {
      ...rest,
      receiptId,
      ...(quarantined ? { quarantine: { code: 'materialize_failed', message: 'told to' } } : {}),
      events: events.map(({ inHours, ...event }) => ({
        ...event,
        ...(inHours === undefined ? {} : { runAfter: now + inHours }),
        eventId: this.newId('evt'),
        workId: this.newId('wrk'),
      })),
    };
  }

  draftOf(admission: Admission): ReceiptDraft {
    const { timeOf } = this.engine;
    const events = admission.events.map(({ runAfter, ...event }) =>
      runAfter === undefined ? event : { ...event, runAfter: timeOf(runAfter) },
    );
    const draft = draftReceipt(this.pack, { ...admission, events });
    const named = draft.events.map((event, place) => {
      const { eventId, workId } = admission.events[place]!;
      return { ...event, eventId, workId };
    });
    return { ...draft, events: named };
  }

  materialize(admissions: readonly Admission[], verb: 'materialize' | 'rematerialize' = 'materialize') {
    const { packId, namespace } = this.pack;
    const receipts = admissions.map((admission) => this.draftOf(admission));
    return this.engine.store[verb]({ packId, namespace, receipts });
  }

  claimRequest({ leaseHours, ...claim }: ModelClaim): ClaimRequest {
    return {
      ...claim,
      packId: this.pack.packId,
      claimWorkTypes: [],
      holder: 'model',
      leaseMs: leaseHours * 3_600_000,
    };
  }
}
