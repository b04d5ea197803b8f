import { z } from 'zod';
import { DEFAULT_IN_FLIGHT, DEFAULT_TARGET_WAIT_MS, DEFAULT_UNVERIFIED } from '../ingress/server.js';
import type { Pack } from '../packs/types.js';

/** Bounds of admission. Every request over one of them is answered 503 before its body is read. */
export interface AdmissionSettings {
  /** How long what is admitted waits for its commit while more comes than the store can take; ≤ half of the deadline. Default 1,000. */
  readonly targetWaitMs: number;
  /** From verification to the commit; then 503. Default 10,000. */
  readonly commitDeadlineMs: number;
  /** Verified and not yet answered, shared out between namespaces. Default 4,096. */
  readonly maxInFlightRequests: number;
  /** Body bytes of those; ≥ the largest body limit. Default 128 MiB. */
  readonly maxInFlightBytes: number;
  /** Being read and verified, shared out between routes. Default 1,024. */
  readonly maxUnverifiedRequests: number;
  /** Body bytes of those; ≥ the largest body limit. Default 128 MiB. */
  readonly maxUnverifiedBytes: number;
}

const DEFAULTS: AdmissionSettings = {
  targetWaitMs: DEFAULT_TARGET_WAIT_MS,
  commitDeadlineMs: 10_000,
  maxInFlightRequests: DEFAULT_IN_FLIGHT.requests,
  maxInFlightBytes: DEFAULT_IN_FLIGHT.bytes,
  maxUnverifiedRequests: DEFAULT_UNVERIFIED.requests,
  maxUnverifiedBytes: DEFAULT_UNVERIFIED.bytes,
};

export const MAX_WAIT_MS = 600_000;
const MOST = {
  targetWaitMs: MAX_WAIT_MS,
  commitDeadlineMs: MAX_WAIT_MS,
  maxInFlightRequests: 1_000_000,
  maxInFlightBytes: 2 ** 40,
  maxUnverifiedRequests: 1_000_000,
  maxUnverifiedBytes: 2 ** 40,
} satisfies AdmissionSettings;

export function admissionSettings(given: Partial<AdmissionSettings> = {}): AdmissionSettings {
  return Object.freeze({ ...DEFAULTS, ...given });
}

const bounded = Object.fromEntries(
  Object.entries(MOST).map(([name, most]) => {
    const error = `must be a whole number from 1 to ${most}`;
    return [name, z.int(error).min(1, error).max(most, error).optional()];
  }),
);

export const admissionSchema = z.strictObject(bounded, 'must be an object').superRefine((given, context) => {
  const { targetWaitMs, commitDeadlineMs } = admissionSettings(given as Partial<AdmissionSettings>);
  if (2 * targetWaitMs <= commitDeadlineMs) return;
  context.addIssue({
    code: 'custom',
    path: ['targetWaitMs'],
    message: 'must be at most half of commitDeadlineMs',
  });
});

/** Bodies that could never be read, each with the bound that is in their way. */
export function unreadableBodies(
  packs: readonly Pack[],
  maxBodyBytes: number,
  given: Partial<AdmissionSettings> = {},
): string[] {
  const { maxInFlightBytes, maxUnverifiedBytes } = admissionSettings(given);
  const least = Math.min(maxInFlightBytes, maxUnverifiedBytes);
  const limits = packs.flatMap((pack) =>
    [...pack.routes.values()].map(
      (route) => [`${pack.name}/${route.name}`, route.maxBodyBytes ?? maxBodyBytes] as const,
    ),
  );
  return limits
    .filter(([, limit]) => limit > least)
    .map(([route, limit]) => `${route} takes bodies of ${limit} bytes, and ${least} may be in hand`);
}
