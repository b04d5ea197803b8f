/** What people's actions may do to rows, what a replay makes, and what the audit log says of it in the end. */
import type { WorkItemState } from '../../src/core/work.js';
import type { Ledger } from './ledger.js';
import type { Breach, ItemBreach } from './row-audit.js';
import { type MirrorItem, type RowMirror, TERMINAL } from './row-mirror.js';
import type { ItemState } from './row-notes.js';
import type { SharedDatabase } from './shared-database.js';

/** What each kind of action makes of an item, and of which. */
const STEPS = {
  retry: ['held', 'pending'],
  skip: ['held', 'skipped'],
  end: ['held', 'dead'],
  cancel: ['pending', 'skipped'],
} as const;

interface Change {
  readonly item: MirrorItem;
  readonly from: ItemState;
  readonly to: ItemState;
}

/** Whether the action that is going on may do this to an item. */
export function mayAct({ acting }: Ledger, { from, to }: Change): boolean {
  if (acting === null || acting.kind === 'replay') return false;
  const [before, after] = STEPS[acting.kind];
  return from.state === before && to.state === after;
}

/** RPL-1: an ended row keeps what it says but for its mark, which a replay sets, once. */
export function* endedBreaches({ acting }: Ledger, { from, to }: Change): Generator<Breach> {
  const { replayedAt, ...said } = to;
  const { replayedAt: before, ...was } = from;
  if (JSON.stringify(said) !== JSON.stringify(was))
    yield ['illegal_transition', `${from.state} became ${to.state}`];
  else if (before !== null || replayedAt === null || acting?.kind !== 'replay')
    yield ['replay', `its mark went from ${before} to ${replayedAt} by ${acting?.kind ?? 'nobody'}`];
}

/** One child for each parent, of the same facts, made in the commit that marks the parent. */
export function* childBreaches(mirror: RowMirror, ledger: Ledger, child: MirrorItem): Generator<Breach> {
  const { parentId } = mirror.events.get(child.eventId)!;
  if (parentId === null) return;
  const parent = mirror.itemOfEvent(parentId);
  if (ledger.acting?.kind !== 'replay') yield ['replay', 'made by nobody'];
  if (mirror.childrenOf(parentId) !== 1)
    yield ['replay', `child ${mirror.childrenOf(parentId)} of ${parent?.item}`];
  if (parent === undefined || !TERMINAL.has(parent.now.state) || parent.now.replayedAt === null)
    yield ['replay', `its parent is ${parent?.now.state}, marked ${parent?.now.replayedAt}`];
  else if (factsOf(child) !== factsOf(parent))
    yield ['replay', `${factsOf(child)}, and its parent ${factsOf(parent)}`];
}

const factsOf = ({
  packId,
  queueClass,
  route,
  routeVersion,
  budget,
  onDead,
  lanes,
  projection,
}: MirrorItem): string =>
  [packId, queueClass, route, routeVersion, budget, onDead, ...lanes, projection].join(' ');

/** At the end of a commit: a mark without a child is a replay that is lost. */
export const unborn = (mirror: RowMirror, item: MirrorItem): boolean =>
  item.now.replayedAt !== null && mirror.childrenOf(item.eventId) !== 1;

/** Once quiet: every action is through, and its row counts what it did. */
export function* logBreaches(
  database: SharedDatabase,
  { acted }: Ledger,
): Generator<readonly [string, Breach]> {
  const rows = database.beside('SELECT * FROM _System_ConnectorAction') as {
    readonly ActionId: string;
    readonly Status: string;
    readonly Matched: number;
    readonly Changed: number;
    readonly Skipped: number;
  }[];
  for (const { ActionId, Status, Matched, Changed, Skipped } of rows) {
    const did = acted.get(ActionId) ?? 0;
    if (Status !== 'finished') yield [ActionId, ['action_log', `it is ${Status}`]];
    if (Changed !== did || Matched !== Changed + Skipped)
      yield [
        ActionId,
        ['action_log', `${Matched} found, ${Changed} changed, ${Skipped} left; it changed ${did}`],
      ];
  }
  const logged = new Set(rows.map(({ ActionId }) => ActionId));
  for (const actionId of acted.keys())
    if (!logged.has(actionId)) yield [actionId, ['action_log', 'it changed rows, and is not written down']];
}

/** What waits for a person is exactly what failed and was not decided on. */
export function* failureBreaches(
  database: SharedDatabase,
  mirror: RowMirror,
  ledger: Ledger,
): Generator<ItemBreach> {
  const rows = database.beside('SELECT WorkId FROM _System_ConnectorFailure') as {
    readonly WorkId: string;
  }[];
  const noted = new Set(rows.map(({ WorkId }) => WorkId));
  for (const item of mirror.items.values()) {
    const { state, replayedAt } = item.now;
    const waits =
      WAITING.has(state as WorkItemState) && replayedAt === null && !ledger.endedByPeople.has(item.workId);
    if (waits !== noted.has(item.workId))
      yield [item, ['action_log', `${state}, and ${waits ? 'not ' : ''}among the failures`]];
  }
}

const WAITING: ReadonlySet<WorkItemState> = new Set(['dead', 'held']);
