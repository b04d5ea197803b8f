/**
 * The failures that wait for a person: noted when an item ends dead or is held, forgotten when somebody replays it or
 * decides on it. Whoever changes the item holds its lock, so nobody waits for anybody here.
 */
import { commonMessage, failureFingerprint } from '../../core/fingerprint.js';
import type { WorkError } from '../../core/outcome.js';
import { DuplicateKey } from '../driver.js';
import { type Plan, read, write } from '../plan.js';
import * as sql from '../statements/failures.js';
import type { FailureFilter, FailureGroup, Page } from '../store.js';
import { ids, writeList } from './batches.js';

interface FailedRow {
  readonly WorkId: string;
  readonly EventId: string;
  readonly PackId: number;
  readonly Route: string;
}

export function* noteFailure(row: FailedRow, error: WorkError): Plan<void> {
  const fingerprint = failureFingerprint(row.PackId, row.Route, error);
  const { WorkId, EventId, PackId, Route } = row;
  const values = [WorkId, EventId, PackId, fingerprint, Route, error.code, commonMessage(error.message)];
  try {
    yield* write(sql.insertFailure, values);
  } catch (thrown) {
    if (!(thrown instanceof DuplicateKey)) throw thrown;
    yield* forgetFailures([WorkId]);
    yield* write(sql.insertFailure, values);
  }
}

/** @param workIds of items that were decided on, or are removed */
export function* forgetFailures(workIds: readonly string[]): Plan<void> {
  yield* writeList(sql.deleteFailures, ids([...workIds].sort()));
}

/** Groups that one page looks at; a filter that most of them fail may need several pages. */
const MAX_GROUPS = 200;

/** In the order of fingerprints: it says nothing, and stays as it is from page to page. */
export function* listFailures(filter: FailureFilter): Plan<Page<FailureGroup>> {
  const { namespace, pack, limit } = filter;
  const items: FailureGroup[] = [];
  let cursor = filter.cursor ?? '';
  for (let looked = 0; looked < MAX_GROUPS && items.length < Math.max(1, limit); looked++) {
    const [row] = yield* read<sql.FailureGroupRow>(sql.nextGroup, [cursor]);
    if (row === undefined) return { items, next: null };
    cursor = row.Fingerprint;
    if ((namespace ?? row.Namespace) !== row.Namespace || (pack ?? row.Pack) !== row.Pack) continue;
    items.push(yield* groupOf(row));
  }
  return { items, next: cursor };
}

function* groupOf(row: sql.FailureGroupRow): Plan<FailureGroup> {
  const [last] = yield* read<sql.LastFailureRow>(sql.lastOfGroup, [row.Fingerprint]);
  const [counted] = yield* read<{ Total: number }>(sql.countGroup, [row.Fingerprint]);
  return {
    fingerprint: row.Fingerprint,
    namespace: row.Namespace,
    pack: row.Pack,
    route: row.Route,
    code: row.ErrorCode,
    message: row.Message,
    count: Number(counted!.Total),
    firstAt: row.FailedDate,
    lastAt: last!.FailedDate,
    sampleId: last!.EventId,
  };
}
