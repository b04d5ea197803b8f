import { LaneheadError } from '../core/errors.js';
import { QUEUE_PROFILES, type QueueProfile } from '../core/work.js';
import { DEFAULT_PRESSURE, PROBES, type PressureLimits } from '../scheduler/claim-limiter.js';
import { DEFAULT_POLL, type PollLimits } from '../scheduler/scan-pacing.js';

export interface SupervisorSettings {
  /** Executor slots per pack (FLG-1), ≥ 1. Default 4; more is kept, and logged as unsafe. */
  readonly workersPerPack: number;
  /** How the slots are shared out between the classes (FLG-3, RSV-2, RSV-3). Default `reserved`. */
  readonly queueProfile: QueueProfile;
  /** Rows of a pack in processing, over all processes (FLG-2, DRN-1), ≥ 1. Default 256, whatever the slots. */
  readonly maxProcessingRows: number;
  /** How long a claim holds without renewal; ≥ 100 ms. Default 30,000. */
  readonly leaseMs: number;
  /** When the signal of a batch read or flow aborts (FLG-5, EXE-5); ≥ 1 ms. Default 30,000. */
  readonly flowDeadlineMs: number;
  /** When a call that ignores its abort gives up slot and lane; ≥ `flowDeadlineMs`. Default twice that. */
  readonly abandonMs: number;
  /** What an aborted call has left to settle in, once the time to stop is over. Default 1,000. */
  readonly stopGraceMs: number;
  readonly poll: PollLimits;
  /** From which pressure on the store fewer items are claimed, and from which none (PRS-2); see docs/configuration. */
  readonly pressure: PressureLimits;
  /** Rest between two sweeps over the readiness marks. Default 60,000. */
  readonly repairEveryMs: number;
}

/** As it is given: what is left out keeps its default, each probe of `pressure` too. */
export type SupervisorInput = Partial<Omit<SupervisorSettings, 'pressure'>> & {
  readonly pressure?: Partial<PressureLimits>;
};

/** The smallest number of slots that gives every executor shape one; more has not been proven safe everywhere. */
export const CONSERVATIVE_WORKERS_PER_PACK = 4;

const DEFAULTS = {
  workersPerPack: CONSERVATIVE_WORKERS_PER_PACK,
  queueProfile: 'reserved' as QueueProfile,
  maxProcessingRows: 256,
  leaseMs: 30_000,
  flowDeadlineMs: 30_000,
  stopGraceMs: 1_000,
  poll: DEFAULT_POLL,
  pressure: DEFAULT_PRESSURE,
  repairEveryMs: 60_000,
};

/** 24.8 days, and far more slots than a process can have: beyond it a unit was mistaken. */
const MAX_SETTING = 2 ** 31 - 1;

const BOUNDS: readonly (readonly [
  keyof Omit<SupervisorSettings, 'poll' | 'pressure' | 'queueProfile'>,
  number,
])[] = [
  ['workersPerPack', 1],
  ['maxProcessingRows', 1],
  ['leaseMs', 100],
  ['flowDeadlineMs', 1],
  ['abandonMs', 1],
  ['stopGraceMs', 0],
  ['repairEveryMs', 1],
];

const UNBOUNDED = ['poll', 'pressure', 'queueProfile'];

/** Defaults filled in, checked and frozen. @throws LaneheadError `invalid_configuration` that names every wrong one. */
export function supervisorSettings(given: SupervisorInput = {}): SupervisorSettings {
  const problems = supervisorProblems(given);
  if (problems.length > 0) {
    const lines = problems.map(({ name, message }) => `${name}: ${message}`);
    throw new LaneheadError('invalid_configuration', lines.join('; '));
  }
  return Object.freeze(filledIn(given));
}

export interface SettingProblem {
  readonly name: string;
  readonly message: string;
}

/** Everything that is wrong with settings. */
export function supervisorProblems(given: SupervisorInput): SettingProblem[] {
  const settings = filledIn(given);
  const problems: SettingProblem[] = Object.keys(given)
    .filter((name) => !UNBOUNDED.includes(name) && !BOUNDS.some(([known]) => known === name))
    .map((name) => ({ name, message: 'is not a known field' }));
  for (const [name, least] of BOUNDS) {
    if (!isWithin(settings[name], least))
      problems.push({ name, message: `must be a whole number from ${least} to ${MAX_SETTING}` });
  }
  if (!QUEUE_PROFILES.includes(settings.queueProfile))
    problems.push({ name: 'queueProfile', message: `must be one of ${QUEUE_PROFILES.join(', ')}` });
  if (settings.abandonMs < settings.flowDeadlineMs)
    problems.push({ name: 'abandonMs', message: 'must not be below flowDeadlineMs' });
  const { minMs = 0, maxMs = 0 } = settings.poll ?? {};
  if (!isWithin(minMs, 1) || !isWithin(maxMs, minMs))
    problems.push({ name: 'poll', message: 'needs 1 <= minMs <= maxMs' });
  if (given.pressure !== undefined && !isObject(given.pressure))
    problems.push({ name: 'pressure', message: 'must be an object' });
  for (const name of Object.keys(given.pressure ?? {})) {
    if (!PROBES.some((probe) => probe === name))
      problems.push({ name: `pressure.${name}`, message: `is none of ${PROBES.join(', ')}` });
  }
  for (const probe of PROBES) {
    const { soft = Number.NaN, hard = Number.NaN } = settings.pressure[probe] ?? {};
    if (!(soft >= 0 && hard > soft))
      problems.push({ name: `pressure.${probe}`, message: 'needs 0 <= soft < hard' });
  }
  return problems;
}

function filledIn(given: SupervisorInput): SupervisorSettings {
  const pressure = { ...DEFAULT_PRESSURE, ...given.pressure };
  const merged = { ...DEFAULTS, ...given, pressure };
  return { ...merged, abandonMs: given.abandonMs ?? 2 * merged.flowDeadlineMs };
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

function isWithin(value: number, least: number): boolean {
  return Number.isInteger(value) && value >= least && value <= MAX_SETTING;
}
