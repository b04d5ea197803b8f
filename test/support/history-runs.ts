import {
  type Run,
  type RunRecord,
  runKey,
  type SentItem,
  type StoredItem,
  type Violation,
} from './history.js';

/** States that let a lane go on although no run of the item finished. */
const PASSED_OVER = new Set(['skipped', 'dead', 'coalesced']);

interface Lane {
  /** Items in the order of sending. */
  readonly order: readonly string[];
  readonly places: ReadonlyMap<string, number>;
  /** Place of the first item that has not finished. */
  done: number;
  /** Place of the latest item that ever started. */
  furthest: number;
  readonly live: Set<Run>;
}

/** @param expired keys of the leases that ran out (see `runKey`): their runs may have been taken over. */
export function runViolations(
  items: ReadonlyMap<string, SentItem>,
  stored: readonly StoredItem[],
  records: readonly RunRecord[],
  expired: ReadonlySet<string>,
): readonly Violation[] {
  const passed = stored.filter(({ state }) => PASSED_OVER.has(state)).map(({ item }) => item);
  const judge = new RunJudge(items, new Set(passed), expired);
  return records.flatMap((record) => judge.next(record));
}

class RunJudge {
  readonly #items: ReadonlyMap<string, SentItem>;
  readonly #expired: ReadonlySet<string>;
  readonly #passed: Set<string>;
  readonly #lanes: ReadonlyMap<string, Lane>;
  readonly #finished = new Map<string, Run>();
  readonly #killed = new Set<string>();

  constructor(items: ReadonlyMap<string, SentItem>, passed: Set<string>, expired: ReadonlySet<string>) {
    this.#items = items;
    this.#passed = passed;
    this.#expired = expired;
    this.#lanes = lanesOf(items.values());
  }

  next(record: RunRecord): readonly Violation[] {
    if (record.kind === 'gone') return this.#gone(record);
    const sent = this.#items.get(record.item);
    if (sent === undefined)
      return [{ kind: 'unexpected', item: record.item, why: 'ran, and nobody sent it' }];
    const lane = this.#lanes.get(sent.lane)!;
    if (record.kind === 'ended') return this.#ended(record, lane);
    const found = [...this.#overlaps(record, lane), ...this.#inversions(sent, lane), ...this.#rerun(record)];
    lane.live.add(record);
    return found;
  }

  #gone({ process, how }: Extract<RunRecord, { kind: 'gone' }>): readonly Violation[] {
    if (how === 'killed') this.#killed.add(process);
    for (const lane of this.#lanes.values()) {
      for (const run of lane.live) if (run.process === process) lane.live.delete(run);
    }
    return [];
  }

  #ended(record: Extract<RunRecord, { kind: 'ended' }>, lane: Lane): readonly Violation[] {
    for (const run of lane.live) {
      if (runKey(run) === runKey(record) && run.process === record.process) lane.live.delete(run);
    }
    if (record.how === 'finished') this.#finished.set(record.item, record);
    return [];
  }

  /** A run whose lease ran out may still be going on when its item is taken over, or ended by whoever took it. */
  #overlaps(record: Run, lane: Lane): readonly Violation[] {
    for (const run of lane.live) {
      const isNext = run.item === record.item && run.epoch < record.epoch;
      const takenOver = this.#expired.has(runKey(run)) && (isNext || this.#passed.has(run.item));
      if (takenOver) lane.live.delete(run);
    }
    return [...lane.live].map((run) => ({
      kind: 'overlap',
      item: record.item,
      why: `${about(record)} started while ${about(run)} was running`,
    }));
  }

  #inversions({ item }: SentItem, lane: Lane): readonly Violation[] {
    const place = lane.places.get(item)!;
    const { furthest } = lane;
    lane.furthest = Math.max(furthest, place);
    if (place < furthest) {
      return [{ kind: 'inversion', item, why: `started after ${lane.order[furthest]} had` }];
    }
    while (lane.done < place && this.#isDone(lane.order[lane.done]!)) lane.done++;
    if (lane.done >= place) return [];
    return [{ kind: 'inversion', item, why: `started before ${lane.order[lane.done]} had finished` }];
  }

  #isDone(item: string): boolean {
    return this.#finished.has(item) || this.#passed.has(item);
  }

  /** What finished runs again only if its holder could not report it: killed, or too late. */
  #rerun(record: Run): readonly Violation[] {
    const before = this.#finished.get(record.item);
    if (before === undefined) return [];
    if (this.#killed.has(before.process) || this.#expired.has(runKey(before))) return [];
    return [
      { kind: 'rerun', item: record.item, why: `${about(record)} after ${about(before)} had finished` },
    ];
  }
}

function lanesOf(items: Iterable<SentItem>): ReadonlyMap<string, Lane> {
  const lanes = new Map<string, SentItem[]>();
  for (const item of items) {
    const lane = lanes.get(item.lane);
    if (lane === undefined) lanes.set(item.lane, [item]);
    else lane.push(item);
  }
  return new Map([...lanes].map(([name, members]) => [name, laneOf(members)]));
}

function laneOf(members: readonly SentItem[]): Lane {
  const order = [...members].sort((a, b) => a.sequence - b.sequence).map(({ item }) => item);
  const places = new Map(order.map((item, place) => [item, place]));
  return { order, places, done: 0, furthest: -1, live: new Set() };
}

const about = ({ item, epoch, process }: Run): string => `${item}@${epoch} of ${process}`;
