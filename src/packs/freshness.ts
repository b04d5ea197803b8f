/** ±5 minutes: what Slack, Stripe, HubSpot and the Standard Webhooks specification recommend. */
export const DEFAULT_TOLERANCE_MS = 300_000;

export interface Freshness {
  readonly unit: 'seconds' | 'milliseconds';
  readonly toleranceMs: number;
}

export const DEFAULT_FRESHNESS: Freshness = { unit: 'seconds', toleranceMs: DEFAULT_TOLERANCE_MS };

/**
 * Why a signed timestamp does not count, or `null` when it does. Too far in the future is as wrong as too old, and
 * what is not a plain number never passes.
 */
export function staleness(raw: string | undefined, freshness: Freshness, receivedAt: number): string | null {
  if (raw === undefined || raw === '') return 'timestamp_missing';
  if (!/^\d{1,15}$/.test(raw)) return 'timestamp_invalid';
  const signedAt = Number(raw) * (freshness.unit === 'seconds' ? 1_000 : 1);
  // Written so that NaN refuses.
  const within = Math.abs(receivedAt - signedAt) <= freshness.toleranceMs;
  return within ? null : 'timestamp_outside_tolerance';
}
