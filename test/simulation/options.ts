import { parseArgs } from 'node:util';
import { FAULT_KINDS, type FaultKind } from './faults.js';

export interface SeedOptions {
  readonly ops?: number;
  readonly without: readonly FaultKind[];
}

export interface RunOptions extends SeedOptions {
  readonly first: number;
  readonly count: number;
  readonly jobs: number;
  readonly json: boolean;
  /** Prints everything that happens. */
  readonly trace: boolean;
  /** Failures are made smaller before they are shown. */
  readonly shrink: boolean;
  /** Ends with the first seed that fails. */
  readonly bail: boolean;
}

export const USAGE = `npm run sim -- [--seeds N] [--seed S] [--ops K] [--without kind,…] [--jobs J] [--json]
                [--trace] [--no-shrink] [--bail]
  --seeds    how many, from --seed on; 100, or 1 with --seed
  --ops      deliveries of a seed
  --without  fault kinds left out: ${FAULT_KINDS.join(', ')}`;

/** @throws RangeError for what cannot be meant */
export function parseOptions(args: readonly string[]): RunOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      seed: { type: 'string' },
      ops: { type: 'string' },
      without: { type: 'string' },
      jobs: { type: 'string', default: '1' },
      json: { type: 'boolean', default: false },
      trace: { type: 'boolean', default: false },
      'no-shrink': { type: 'boolean', default: false },
      bail: { type: 'boolean', default: false },
    },
  });
  return {
    first: whole('seed', values.seed ?? '1'),
    count: whole('seeds', values.seeds ?? (values.seed === undefined ? '100' : '1')),
    jobs: whole('jobs', values.jobs),
    json: values.json,
    trace: values.trace,
    shrink: !values['no-shrink'],
    bail: values.bail,
    without: faultKinds(values.without ?? ''),
    ...(values.ops === undefined ? {} : { ops: whole('ops', values.ops) }),
  };
}

function whole(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`--${name}: ${text} is not a whole number from 1 on`);
  return value;
}

function faultKinds(text: string): readonly FaultKind[] {
  const names = text.split(',').filter((name) => name !== '');
  const unknown = names.find((name) => !FAULT_KINDS.includes(name as FaultKind));
  if (unknown !== undefined) throw new RangeError(`--without: ${unknown} is no fault kind`);
  return names as FaultKind[];
}

/** The command that shows one seed again. */
export function replayOf(seed: number, { ops, without }: SeedOptions): string {
  const words = ['npm run sim -- --seed', seed];
  if (ops !== undefined) words.push('--ops', ops);
  if (without.length > 0) words.push('--without', without.join(','));
  return words.join(' ');
}
