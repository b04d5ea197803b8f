import fc from 'fast-check';
import { expect } from 'vitest';
import { type Lease, QUEUE_CLASSES } from '../../../src/core/work.js';
import type {
  ClaimResult,
  Finalization,
  FinalizeResult,
  InstalledPack,
  PackStatus,
} from '../../../src/store/store.js';
import type { ModelBench, SketchInput } from './model-bench.js';
import type { ModelClaim, ModelClaimed, ModelOutcome, QueueModel } from './queue-model.js';
import { expectAlike, expectClaimed } from './visible-state.js';

type Command = fc.AsyncCommand<QueueModel, ModelBench, false>;

/** One line of a script. `act` does the same to both sides; afterwards everything that can be seen is compared. */
function command(
  text: string,
  act: (model: QueueModel, bench: ModelBench) => Promise<void>,
  check: (model: QueueModel) => boolean = () => true,
): Command {
  return {
    check,
    async run(model, bench) {
      await act(model, bench);
      await expectAlike(bench, model);
    },
    toString: () => text,
  };
}

const written = (verb: string, ...values: readonly unknown[]): string =>
  `${verb}(${values.map((value) => JSON.stringify(value)).join(', ')})`;

/** Without the keys whose value was not drawn. */
function some<T>(model: { [K in keyof T]?: fc.Arbitrary<T[K]> }, required: readonly (keyof T)[] = []) {
  return fc.record(model as { [K in keyof T]: fc.Arbitrary<T[K]> }, {
    requiredKeys: [...required] as (keyof T)[],
  }) as unknown as fc.Arbitrary<T>;
}

// ── admission ──────────────────────────────────────────────────────────────────────────────────────────────

type DrawnEvent = SketchInput['events'][number];

const plain = {
  source: fc.constantFrom('a', 'b'),
  key: fc.constantFrom('k1', 'k2'),
  payload: fc.constantFrom('x', 'y'),
  queueClass: fc.constantFrom(...QUEUE_CLASSES),
  target: fc.constantFrom('t1', 't2'),
  inHours: fc.integer({ min: 1, max: 3 }),
  budget: fc.integer({ min: 1, max: 3 }),
  onDead: fc.constantFrom('advance', 'hold'),
} as const;

const event = some<DrawnEvent>({ ...plain, projection: fc.constantFrom('p1', 'p2') }, ['source']);

const receipt = some<SketchInput>(
  {
    delivery: fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5', 'd6', 'd7', 'd8'),
    body: fc.constantFrom('x', 'y'),
    route: fc.constantFrom('events', 'other'),
    ordering: fc.constantFrom('source', 'strict', 'none'),
    onConflict: fc.constantFrom('hold', 'separate'),
    quarantined: fc.constantFrom(true, false, false, false),
    events: fc.array(event, { maxLength: 4 }),
  },
  ['delivery', 'body', 'events'],
);

const admit = fc.array(receipt, { minLength: 1, maxLength: 3 }).map((sketches) =>
  command(written('admit', ...sketches), async (model, bench) => {
    const admissions = sketches.map((sketch) => bench.admissionOf(sketch, model.now));
    bench.lastAdmissions = admissions;
    expect(await bench.materialize(admissions)).toEqual(model.admit(admissions));
  }),
);

const admitAgain = fc.constant(
  command('admit the last ones again, as after a lost answer', async (model, bench) => {
    expect(await bench.materialize(bench.lastAdmissions)).toEqual(model.admit(bench.lastAdmissions));
  }),
);

const rematerialize = fc.tuple(fc.nat(7), receipt).map(([pick, sketch]) =>
  command(
    written('rematerialize', pick, sketch),
    async (model, bench) => {
      const ids = quarantinedIn(model);
      const admission = bench.admissionOf(
        { ...sketch, quarantined: false },
        model.now,
        ids[pick % ids.length],
      );
      expect(await bench.materialize([admission], 'rematerialize')).toEqual(model.rematerialize(admission));
    },
    (model) => quarantinedIn(model).length > 0,
  ),
);

const quarantinedIn = (model: QueueModel): readonly string[] =>
  [...model.receipts].filter(([, { quarantined }]) => quarantined).map(([id]) => id);

const OLD_EVENT = `INSERT INTO _System_ConnectorEvent (EventId, PackId, EventType, SourceKey, DeliveryKey, Route,
  IdempotencyKey, ReceivedDate, CreatedDate, Payload) VALUES (?, ?, 'push', ?, 'old', 'events', ?, 1, 1, ?)`;

/** An older writer's Event has no WorkItem until its provider delivers it again; it knows no projections. */
const repairHistory = fc
  .tuple(fc.constantFrom('strict', 'source'), some<DrawnEvent>(plain, ['source']))
  .map(([ordering, drawn]) =>
    command(
      written('repairHistory', ordering, drawn),
      async (model, bench) => {
        const key = bench.newId('old');
        const sketch = { delivery: 'd1', body: 'x', ordering, events: [{ ...drawn, key }] } as const;
        const admission = bench.admissionOf(sketch, model.now);
        const [draft] = bench.draftOf(admission).events;
        const payload = draft!.payload ?? Buffer.from('x');
        const old = bench.newId('evt');
        const params = [old, bench.pack.packId, drawn.source, draft!.idempotencyKey, payload];
        await bench.engine.change(OLD_EVENT, params);
        expect(await bench.materialize([admission])).toMatchObject([
          { events: 1, duplicate: true, conflict: false },
        ]);
        model.repairHistory({ ...admission, events: [{ ...admission.events[0]!, eventId: old }] });
      },
      (model) => model.status === 'active',
    ),
  );

// ── drain ──────────────────────────────────────────────────────────────────────────────────────────────────

const classes = fc.subarray([...QUEUE_CLASSES]);
const leaseHours = fc.constantFrom(0.5, 1.5, 2.5);

type DrawnClaim = Omit<ModelClaim, 'token' | 'generation'> & { readonly older?: boolean };

const claimShape = some<DrawnClaim>(
  {
    queueClasses: classes,
    preference: classes,
    maxClaims: fc.integer({ min: 1, max: 4 }),
    leaseHours,
    processingBudget: fc.integer({ min: 1, max: 6 }),
    mode: fc.constantFrom('any', 'fresh', 'stale'),
    older: fc.constant(true),
  },
  ['queueClasses', 'preference', 'maxClaims', 'leaseHours', 'processingBudget', 'mode'],
);

/** Of an `older` incarnation, where there is one. */
function claimOf({ older, ...drawn }: DrawnClaim, model: QueueModel, bench: ModelBench): ModelClaim {
  const generation = older ? Math.max(1, model.generation - 1) : model.generation;
  return { ...drawn, generation, token: bench.newId('token') };
}

async function claimed(
  bench: ModelBench,
  model: QueueModel,
  real: Promise<ClaimResult>,
  expected: ModelClaimed,
): Promise<void> {
  expectClaimed(bench, await real, expected, model);
}

const claim = claimShape.map((drawn) =>
  command(written('claim', drawn), (model, bench) => {
    const request = claimOf(drawn, model, bench);
    return claimed(bench, model, bench.engine.store.claim(bench.claimRequest(request)), model.claim(request));
  }),
);

const claimAll = fc.constant(
  command('claim everything', (model, bench) => {
    const all = { queueClasses: [], preference: [], maxClaims: 50, leaseHours: 1.5, processingBudget: 50 };
    const request = claimOf({ ...all, mode: 'any' }, model, bench);
    return claimed(bench, model, bench.engine.store.claim(bench.claimRequest(request)), model.claim(request));
  }),
);

const reclaimStale = claimShape.map((drawn) =>
  command(written('reclaimStale', drawn), (model, bench) => {
    const request = claimOf(drawn, model, bench);
    const expected = model.claim({ ...request, mode: 'stale' });
    return claimed(bench, model, bench.engine.store.reclaimStale(bench.claimRequest(request)), expected);
  }),
);

const claimForEvent = fc.tuple(claimShape, fc.nat(99)).map(([drawn, pick]) =>
  command(
    written('claimForEvent', drawn, pick),
    (model, bench) => {
      const request = claimOf(drawn, model, bench);
      const { eventId } = model.items[pick % model.items.length]!;
      const real = bench.engine.store.claimForEvent(bench.claimRequest(request), eventId);
      return claimed(bench, model, real, model.claimForEvent(request, eventId));
    },
    (model) => model.items.length > 0,
  ),
);

// ── leases ─────────────────────────────────────────────────────────────────────────────────────────────────

const ERROR = { code: 'flow_error', message: 'told to' };

/** `pick`: 0 is the newest; most that are drawn are old, and many of them lost. */
interface DrawnLease {
  readonly pick: number;
  readonly forged?: 'token' | 'epoch';
}

const drawnLease = some<DrawnLease>(
  { pick: fc.nat(5), forged: fc.constantFrom('token', 'epoch', undefined, undefined, undefined) },
  ['pick'],
);

function leaseOf(model: QueueModel, { pick, forged }: DrawnLease): Lease {
  const lease = { ...model.leases[pick % model.leases.length]!, untilMs: 0 };
  if (forged === 'token') return { ...lease, token: 'forged' };
  return forged === 'epoch' ? { ...lease, epoch: lease.epoch + 1 } : lease;
}

const anyLease = (model: QueueModel): boolean => model.leases.length > 0;

interface DrawnEnd {
  readonly lease: DrawnLease;
  readonly outcome: ModelOutcome;
  readonly delayHours: number;
}

const end = fc.record<DrawnEnd>({
  lease: drawnLease,
  outcome: fc.constantFrom('completed', 'failed', 'released', 'skipped', 'dead'),
  delayHours: fc.nat(2),
});

function outcomeOf({ outcome, delayHours }: DrawnEnd): Finalization['outcome'] {
  const delayMs = delayHours * 3_600_000;
  switch (outcome) {
    case 'completed':
      return { kind: outcome };
    case 'failed':
      return { kind: outcome, error: ERROR, delayMs };
    case 'released':
      return { kind: outcome, reason: 'told to', delayMs };
    default:
      return { kind: outcome, error: ERROR };
  }
}

const finalize = fc.array(end, { minLength: 1, maxLength: 4 }).map((ends) =>
  command(
    written('finalize', ...ends),
    async (model, bench) => {
      const batch = ends.map((drawn) => ({ lease: leaseOf(model, drawn.lease), outcome: outcomeOf(drawn) }));
      const real = await bench.engine.store.finalize(batch);
      const expected = ends.map(({ outcome, delayHours }, place): FinalizeResult => {
        const { workId } = batch[place]!.lease;
        const item = model.finalize(batch[place]!.lease, outcome, delayHours);
        return item === undefined
          ? { workId, lost: true }
          : { workId, lost: false, state: item.state, failures: item.failures };
      });
      expect(real).toEqual(expected);
    },
    anyLease,
  ),
);

const renew = fc
  .tuple(fc.array(drawnLease, { minLength: 1, maxLength: 3 }), leaseHours)
  .map(([picks, hours]) =>
    command(
      written('renew', picks, hours),
      async (model, bench) => {
        const leases = picks.map((pick) => leaseOf(model, pick));
        const { renewed, lost } = await bench.engine.store.renew(leases, hours * 3_600_000);
        const held = leases.map((lease) => model.renew(lease, hours));
        expect(renewed.map(({ workId, untilMs }) => [workId, bench.engine.hourOf(untilMs)])).toEqual(
          leases.filter((_, place) => held[place]).map(({ workId }) => [workId, model.now + hours]),
        );
        expect(lost).toEqual(leases.filter((_, place) => !held[place]).map(({ workId }) => workId));
      },
      anyLease,
    ),
  );

// ── time, authority, upkeep ────────────────────────────────────────────────────────────────────────────────

const advance = fc.integer({ min: 1, max: 3 }).map((hours) =>
  command(written('advance', hours), async (model, bench) => {
    model.now += hours;
    await bench.engine.advance(hours);
  }),
);

const setStatus = fc.constantFrom<PackStatus>('active', 'active', 'paused', 'retired').map((status) =>
  command(written('setPackStatus', status), async (model, bench) => {
    model.status = status;
    bench.pack = await bench.engine.store.setPackStatus(bench.pack.packId, status);
  }),
);

const reinstall = fc.constant(
  command('reinstall a newer version', async (model, bench) => {
    model.generation++;
    const newer = { ...bench.pack, version: `${model.generation}.0.0` };
    [bench.pack] = (await bench.engine.store.installPacks([newer])) as [InstalledPack];
  }),
);

const sweep = fc.constant(
  command('repairReadiness, which finds nothing to repair', async (_model, bench) => {
    let cursor: number | null = null;
    do {
      const step = await bench.engine.store.repairReadiness(bench.pack.packId, cursor);
      expect(step.repaired).toBe(0);
      cursor = step.cursor;
    } while (cursor !== null);
  }),
);

/** Whole runs: a command that stands here twice is drawn twice as often. */
export const scripts = fc.commands<QueueModel, ModelBench, false>(
  [
    ...[admit, admit, admit, admitAgain, rematerialize, repairHistory],
    ...[claim, claim, claimAll, claimAll, reclaimStale, claimForEvent],
    ...[finalize, finalize, finalize, renew],
    ...[advance, advance, setStatus, reinstall, sweep],
  ],
  { maxCommands: 40, size: 'max' },
);
