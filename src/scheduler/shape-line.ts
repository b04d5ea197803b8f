import type { QueueClass } from '../core/work.js';
import { type PollLimits, ScanPacing } from './scan-pacing.js';
import { covers, type ExecutorShape, type ExecutorSlot } from './shapes.js';

export interface WaitingSlot<Work> {
  readonly slot: ExecutorSlot;
  readonly give: (work: Work | null) => void;
}

/** The waiting slots of one shape, and what is known of the work for them. Longest waiting first. */
export class ShapeLine<Work> {
  readonly shape: ExecutorShape;
  readonly pacing: ScanPacing;
  waiting: WaitingSlot<Work>[] = [];
  /** Something may be claimable that the last look did not see. */
  dirty = true;
  /** Somebody said so. */
  announced = false;
  /** When to look again though nothing was said; monotonic. */
  lookAt = 0;
  /** Number of the scan that served it last; one that a limit of the pack left without a place has served nobody. */
  scan = 0;
  /** The limit that left its last claim without a place: the pack's own, where that is one of them. */
  denied: 'pack' | 'namespace' | null = null;
  #turn = 0;

  constructor(shape: ExecutorShape, poll: PollLimits) {
    this.shape = shape;
    this.pacing = new ScanPacing(poll);
  }

  /** The affinity of the next claim. */
  get preference(): readonly QueueClass[] {
    const { preferences } = this.shape;
    return preferences[this.#turn % preferences.length]!;
  }

  found(): void {
    this.#turn++;
    this.pacing.found();
  }
}

/** The one to scan for now: of those that wait and may get something, the one whose last scan is longest ago. */
export function lineToScan<Work>(lines: Iterable<ShapeLine<Work>>): ShapeLine<Work> | null {
  let next: ShapeLine<Work> | null = null;
  for (const line of lines) {
    if (line.waiting.length > 0 && line.dirty && (next === null || line.scan < next.scan)) next = line;
  }
  return next;
}

/**
 * The one to look for when its rest is over. Where a slot waits that may run everything, its look answers for all:
 * an idle pack costs one look, whatever the shapes.
 */
export function lineToLook<Work>(lines: Iterable<ShapeLine<Work>>): ShapeLine<Work> | null {
  const waiting = [...lines].filter((line) => line.waiting.length > 0);
  const isAnswered = (line: ShapeLine<Work>, place: number): boolean =>
    waiting.some(
      (other, before) =>
        covers(other.shape, line.shape) && (before < place || !covers(line.shape, other.shape)),
    );
  let next: ShapeLine<Work> | null = null;
  for (const [place, line] of waiting.entries()) {
    if (!isAnswered(line, place) && (next === null || line.lookAt < next.lookAt)) next = line;
  }
  return next;
}
