/** What the commands that act on stored work have in common: which items, who, why, and how far it has come. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { LaneheadError } from '../core/errors.js';
import { idMaker } from '../core/ids.js';
import { systemClock, systemRandom } from '../core/system.js';
import type { WorkItemState } from '../core/work.js';
import { runWorkAction, type WorkActionOptions, type WorkActionResult } from '../runtime/work-actions.js';
import type { Store, WorkAction, WorkFilter } from '../store/store.js';
import { databaseOption, jsonOption, unsafeDurabilityOption } from './options.js';
import { neutralize } from './output.js';
import type { Terminal } from './terminal.js';
import { type DatabaseFlags, writing } from './with-store.js';

export interface WorkActionFlags extends DatabaseFlags {
  readonly fingerprint?: string;
  readonly namespace?: string;
  readonly pack?: string;
  readonly route?: string;
  readonly source?: string;
  readonly state?: readonly WorkItemState[];
  readonly since?: number;
  readonly until?: number;
  readonly dryRun?: boolean;
  readonly rate?: number;
  readonly action?: string;
  readonly by?: string;
  readonly reason?: string;
  readonly json?: boolean;
}

export function addWorkActionOptions(command: Command): Command {
  return command
    .argument('[event]', 'evt_…; left out: all that the options name')
    .option('--fingerprint <fingerprint>', 'one group of lanehead failures list')
    .option('--namespace <name>', 'of this namespace')
    .option('--pack <name>', 'of this pack')
    .option('--route <name>', 'of this route')
    .option('--source <key>', 'of this source')
    .addOption(new Option('--since <time>', 'received at this time or later: ISO 8601').argParser(time))
    .addOption(new Option('--until <time>', 'received before this time').argParser(time))
    .option('--dry-run', 'count what would be changed, and change nothing')
    .addOption(new Option('--rate <n/s>', 'most items a second; default: no limit').argParser(rate))
    .option('--action <id>', 'id of the action; the same one again goes on with it; default: a new one')
    .option('--by <who>', 'who does this, for the audit log')
    .option('--reason <why>', 'why, for the audit log')
    .addOption(databaseOption())
    .addOption(unsafeDurabilityOption())
    .addOption(jsonOption());
}

function time(text: string): number {
  const epochMs = Date.parse(text);
  if (Number.isNaN(epochMs)) throw new InvalidArgumentError('It must be a time, as 2026-01-31T12:00:00Z.');
  return epochMs;
}

function rate(text: string): number {
  const [, count] = /^(\d+(?:\.\d+)?)(?:\/s)?$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('It must be a number a second, as 50/s.');
  return Number(count);
}

function filterOf(event: string | undefined, flags: WorkActionFlags): WorkFilter {
  const { fingerprint, namespace, pack, route, source, state, since, until } = flags;
  const named = {
    event,
    fingerprint,
    namespace,
    pack,
    route,
    sourceKey: source,
    states: state,
    since,
    until,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== undefined));
}

/** Runs the action to its end and says what came of it. @returns its result, and what `ask` read afterwards */
export async function actAtTerminal<T>(
  terminal: Terminal,
  kind: WorkAction,
  event: string | undefined,
  flags: WorkActionFlags,
  ask: (store: Store) => Promise<T>,
): Promise<{ readonly result: WorkActionResult; readonly answer: T }> {
  const newId = idMaker(systemClock, systemRandom());
  const options = optionsOf(terminal, event, flags, flags.action ?? newId('act'));
  return await writing(terminal, flags, async (store) => {
    try {
      const result = await runWorkAction({ store, clock: systemClock, newId }, kind, options);
      return { result, answer: await ask(store) };
    } finally {
      terminal.progress?.('');
    }
  });
}

function optionsOf(
  terminal: Terminal,
  event: string | undefined,
  flags: WorkActionFlags,
  action: string,
): WorkActionOptions {
  const { by, reason, dryRun = false, rate: ratePerSecond, json } = flags;
  const missing = [by === undefined && '--by', reason === undefined && '--reason'].filter(Boolean);
  if (!dryRun && missing.length > 0)
    throw new LaneheadError(
      'invalid_argument',
      `an action is written down: ${missing.join(' and ')} must be given`,
    );
  // Whoever is cut off needs the id to go on.
  if (!dryRun && !json && event === undefined)
    terminal.complain(`action ${neutralize(action)}; if it is cut off, repeat it with --action`);
  return {
    filter: filterOf(event, flags),
    action,
    dryRun,
    ...(by === undefined ? {} : { by }),
    ...(reason === undefined ? {} : { reason }),
    ...(ratePerSecond === undefined ? {} : { ratePerSecond }),
    onProgress: ({ matched, changed, skipped }) =>
      terminal.progress?.(`${matched} found, ${changed} changed, ${skipped} left as they are`),
  };
}

/** For a person: one line. */
export function resultLine(result: WorkActionResult, changed: string): string {
  const { action, matched, skipped, dryRun } = result;
  if (dryRun)
    return `${matched} found: ${matched - skipped} would be ${changed}, ${skipped} left as they are`;
  return `${neutralize(action!)}: ${matched} found, ${result.changed} ${changed}, ${skipped} left as they are`;
}
