import type { Clock } from '../core/clock.js';
import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import type { LoadedEvent, WorkItemService } from '../store/store.js';
import { Contention, StoreOutage } from '../store/store.js';

/** It will be over: the same request, sent again, can succeed. Everything else a store throws is a bug. */
export function isPassing(error: unknown): boolean {
  return error instanceof StoreOutage || error instanceof Contention;
}

/** An Event, `null` when there is none, or why it could not be had. */
export type Loading =
  | { readonly kind: 'loaded'; readonly event: LoadedEvent | null }
  | { readonly kind: 'unreadable'; readonly error: unknown }
  | { readonly kind: 'unavailable' };

export interface EventLoadingParts {
  readonly service: Pick<WorkItemService, 'loadEvents'>;
  readonly clock: Clock;
  readonly random: Random;
}

const PATIENCE: RetryPolicy = { attempts: Number.POSITIVE_INFINITY, baseMs: 50, maxMs: 2_000 };

/**
 * Loads a claim's Events with one request. An outage is waited out while `leftMs` lets it; a row that cannot be
 * read spoils only its own item.
 */
export async function loadTogether(
  parts: EventLoadingParts,
  eventIds: readonly string[],
  leftMs: () => number,
): Promise<readonly Loading[]> {
  for (let failures = 1; ; failures++) {
    try {
      const events = await parts.service.loadEvents(eventIds);
      return eventIds.map((_, place) => ({ kind: 'loaded', event: events[place] ?? null }));
    } catch (error) {
      if (!isPassing(error)) return await loadApart(parts, eventIds, leftMs, error);
    }
    const left = leftMs();
    if (left <= 0) return eventIds.map(() => ({ kind: 'unavailable' }));
    await parts.clock.sleep(Math.min(left, retryDelayMs(PATIENCE, failures, parts.random)));
  }
}

async function loadApart(
  parts: EventLoadingParts,
  eventIds: readonly string[],
  leftMs: () => number,
  error: unknown,
): Promise<readonly Loading[]> {
  if (eventIds.length === 1) return [{ kind: 'unreadable', error }];
  const loadings: Loading[] = [];
  for (const eventId of eventIds) loadings.push(...(await loadTogether(parts, [eventId], leftMs)));
  return loadings;
}
