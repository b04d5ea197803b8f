/**
 * Decides, before any queue mutation, what a scan may claim under the pressure on the store (PRS-2):
 *
 *   probe degraded                    ▶ stale_only   takes over expired leases, which costs no budget, and nothing else
 *   a probe at its hard limit         ▶ denied       at most for so long without a break; then one claim is let through
 *   a probe between soft and hard     ▶ reduced      fewer, down to one as it nears the hard limit, and less often
 *   this process admits               ▶ reduced      to one short transaction, and the next at once (ADM-4)
 *   else                              ▶ granted      all that was asked for
 *
 * It bounds what is asked for and moves no budget from one to another (NGO-1). Lane heads and the processing budget
 * stay with the store (RSV-5).
 */
import type { Clock } from '../core/clock.js';
import { SHORT_BATCH } from '../core/foreground.js';
import type { StorePressure } from '../store/store.js';
import type { PressureReading } from './pressure-gauge.js';

export interface PressureLimit {
  /** Above it fewer are claimed. */
  readonly soft: number;
  /** From here on none; greater than `soft`. */
  readonly hard: number;
}

export type Probe = keyof StorePressure;
export type PressureLimits = Readonly<Record<Probe, PressureLimit>>;

export const DEFAULT_PRESSURE: PressureLimits = {
  poolWaitMs: { soft: 250, hard: 2_500 },
  statementMs: { soft: 100, hard: 1_000 },
  inboxDepth: { soft: 256, hard: 2_048 },
  walBytes: { soft: 256 * 2 ** 20, hard: 2 ** 30 },
};

export const PROBES = Object.keys(DEFAULT_PRESSURE) as readonly Probe[];

export const CLAIM_DECISIONS = ['granted', 'reduced', 'stale_only', 'denied'] as const;

export interface ClaimDecision {
  readonly kind: (typeof CLAIM_DECISIONS)[number];
  /** What it was for; `null`: nothing is pressed. */
  readonly probe: Probe | 'degraded' | 'admission' | null;
  /** At most what was asked for; 0 when denied. */
  readonly maxClaims: number;
  /** No other scan before so many milliseconds have passed. */
  readonly restMs: number;
}

/** About the time after which there is a new reading. */
const REST_MS = 250;
/** A store that stays pressed still drains: slowly, but for ever. */
const MOST_DENIED_MS = 10_000;

export interface ClaimLimiterOptions {
  readonly limits: PressureLimits;
  readonly read: () => PressureReading;
  /** This process admits; see `Foreground`. */
  readonly isAdmitting: () => boolean;
  readonly clock: Clock;
}

export class ClaimLimiter {
  readonly #options: ClaimLimiterOptions;
  /** Monotonic time of the first denial in a row. */
  #deniedSince: number | null = null;

  constructor(options: ClaimLimiterOptions) {
    this.#options = options;
  }

  /** @param asked permits of the scan, ≥ 1 */
  decide(asked: number): ClaimDecision {
    const { read, limits, isAdmitting, clock } = this.#options;
    const decision = decide(read(), limits, asked);
    if (decision.kind !== 'denied') {
      this.#deniedSince = null;
      return isAdmitting() ? shortened(decision) : decision;
    }
    const now = clock.monotonic();
    this.#deniedSince ??= now;
    if (now - this.#deniedSince < MOST_DENIED_MS) return decision;
    this.#deniedSince = now;
    return { ...decision, kind: 'reduced', maxClaims: 1 };
  }
}

function decide(pressure: PressureReading, limits: PressureLimits, asked: number): ClaimDecision {
  if (pressure === null) return { kind: 'stale_only', probe: 'degraded', maxClaims: asked, restMs: REST_MS };
  const { probe, share } = worst(pressure, limits);
  if (share === 1) return { kind: 'granted', probe: null, maxClaims: asked, restMs: 0 };
  if (share === 0) return { kind: 'denied', probe, maxClaims: 0, restMs: REST_MS };
  const maxClaims = Math.max(1, Math.floor(asked * share));
  return { kind: 'reduced', probe, maxClaims, restMs: Math.ceil(REST_MS * (1 - share)) };
}

/** No longer than one short transaction; taking over expired leases is one too. */
function shortened(decision: ClaimDecision): ClaimDecision {
  if (decision.maxClaims <= SHORT_BATCH) return decision;
  const maxClaims = SHORT_BATCH;
  if (decision.kind !== 'granted') return { ...decision, maxClaims };
  return { kind: 'reduced', probe: 'admission', maxClaims, restMs: 0 };
}

/** The probe that leaves the smallest share of the claims asked for: 1 up to its soft limit, 0 from the hard one on. */
function worst(
  pressure: StorePressure,
  limits: PressureLimits,
): { readonly probe: Probe; readonly share: number } {
  const shares = PROBES.map((probe) => {
    const { soft, hard } = limits[probe];
    const share = (hard - (pressure[probe] ?? 0)) / (hard - soft);
    return { probe, share: Math.min(1, Math.max(0, share)) };
  });
  return shares.reduce((least, next) => (next.share < least.share ? next : least));
}
