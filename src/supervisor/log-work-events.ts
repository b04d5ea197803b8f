import { workError } from '../executor/work-error.js';
import type { FlowLog } from '../packs/types.js';
import type { WorkEventMap, WorkEvents } from '../scheduler/work-events.js';
import type { ClaimedItem, InstalledPack } from '../store/store.js';

/** Writes down what an operator should see: what went wrong, never what went through. */
export function logWorkEvents(
  events: WorkEvents,
  log: FlowLog,
  installedAs: (packId: number) => InstalledPack | undefined,
): void {
  const packOf = (packId: number) => {
    const installed = installedAs(packId);
    return { packId, namespace: installed?.namespace, pack: installed?.pack };
  };
  const about = (item: ClaimedItem) => {
    const { packId, eventId, lease, route, attempt } = item;
    return { ...packOf(packId), eventId, workId: lease.workId, route, attempt };
  };

  events.on('scanned', ({ packId, result }) => {
    const expired = result?.expired ?? 0;
    if (expired > 0)
      log.error('work is dead or held: its lease ran out too often', { ...packOf(packId), expired });
  });
  events.on('scanFailed', ({ packId, error, retryInMs }) =>
    log.warn('claim scan failed', { ...packOf(packId), error: text(error), retryInMs }),
  );
  events.on('slotCrashed', ({ packId, error, restartInMs }) =>
    log.error('executor slot crashed', { ...packOf(packId), error: text(error), restartInMs }),
  );
  events.on('finished', (end) => {
    const line = endLine(end);
    if (line !== null) log[line[0]](line[1], { ...about(end.item), ...line[2] });
  });
  events.on('lost', ({ item, outcome }) =>
    log.warn('outcome refused: the lease was lost', { ...about(item), outcome: outcome.kind }),
  );
  events.on('unreported', ({ item, outcome, error }) =>
    log.error('outcome could not be stored', { ...about(item), outcome: outcome.kind, error: text(error) }),
  );
  events.on('abandoned', ({ item, stage }) =>
    log.error('call ignored its abort and was abandoned', { ...about(item), stage }),
  );
  events.on('repaired', ({ packId, marks }) =>
    log.warn('readiness marks were repaired', { ...packOf(packId), marks }),
  );
}

type Line = readonly [level: keyof FlowLog, message: string, fields: object];

/** A completed item says nothing; the rest by what became of its row: it comes again, it ended, or a person decides. */
function endLine({ item, outcome, state, failures }: WorkEventMap['finished']): Line | null {
  if (outcome.kind === 'completed') return null;
  if (outcome.kind === 'released') return ['debug', 'work was given back', { reason: outcome.reason }];
  const { error } = outcome;
  if (outcome.kind === 'skipped') return ['debug', 'work was skipped', { error }];
  const fields = { failures, failureBudget: item.failureBudget, error };
  if (state === 'held') {
    const action = `lanehead lanes retry|skip|end ${item.eventId}`;
    return ['error', 'work is held and its lane waits', { ...fields, action }];
  }
  if (state === 'dead') return ['error', 'work is dead and its lane goes on', fields];
  const dueInMs = outcome.kind === 'failed' ? outcome.delayMs : 0;
  return ['warn', 'attempt failed and will be repeated', { ...fields, dueInMs }];
}

function text(error: unknown): string {
  return workError('', error).message;
}
