import { parseArgs } from 'node:util';

export const BENCHES = ['admission', 'drain', 'shed', 'overload', 'foreground', 'classes'] as const;
export type BenchName = (typeof BENCHES)[number];

export interface BenchOptions {
  readonly bench: BenchName;
  readonly engine: 'sqlite' | 'mysql';
  /** Ends with one line of JSON instead of a table. */
  readonly json: boolean;
  /** The median of these is the result. */
  readonly runs: number;
  /** Measured time of each contestant in each run; up to two seconds of warm-up come before it. `overload`: how long it lasts. */
  readonly seconds: number;
  /** `drain`, `foreground`, `classes`: items in the database. Else: different requests, so the most one run can admit. */
  readonly items: number;
  /** Lanes they lie in. */
  readonly lanes: number;
  /** Keep-alive connections. */
  readonly connections: number;
  /** `drain`, `foreground`, `classes`: executor slots of the product. */
  readonly workers: number;
  /** `foreground`: the part of the best rate that is offered. */
  readonly share: number;
  /** Bytes of one GitHub push payload. */
  readonly payloadBytes: number;
  /** The product serves `/metrics`, and so counts. */
  readonly metrics: boolean;
  /** Folder for the CPU profiles of the measured processes; `null`: none are taken. */
  readonly profile: string | null;
}

export const USAGE = `npm run bench -- ${BENCHES.join('|')} [--engine sqlite|mysql] [--json] [--runs 3] [--seconds 4]
  [--items N] [--lanes 1000] [--connections N] [--workers N] [--share 0.2] [--payload-bytes 7168] [--metrics]
  [--profile FOLDER]`;

const BOUNDS = {
  runs: 20,
  seconds: 60,
  items: 1_000_000,
  lanes: 100_000,
  connections: 1_000,
  workers: 4_096,
  share: 1,
};

const ITEMS = {
  admission: { sqlite: 40_000, mysql: 40_000 },
  drain: { sqlite: 50_000, mysql: 20_000 },
  shed: { sqlite: 10_000, mysql: 10_000 },
  overload: { sqlite: 60_000, mysql: 60_000 },
  foreground: { sqlite: 1_000_000, mysql: 1_000_000 },
  classes: { sqlite: 15_000, mysql: 15_000 },
} as const;

/** Under overload as many wait as are committed in a second, and as many again are refused meanwhile. */
const CONNECTIONS = { admission: 64, drain: 64, shed: 64, overload: 900, foreground: 64, classes: 16 };

const WORKERS = { admission: 256, drain: 256, shed: 256, overload: 256, foreground: 256, classes: 16 };

/** @throws Error that says what is wrong with the command line */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      engine: { type: 'string', default: 'sqlite' },
      json: { type: 'boolean', default: false },
      runs: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      items: { type: 'string' },
      lanes: { type: 'string', default: '1000' },
      connections: { type: 'string' },
      workers: { type: 'string' },
      share: { type: 'string', default: '0.2' },
      'payload-bytes': { type: 'string', default: '7168' },
      metrics: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  });
  const bench = BENCHES.find((name) => name === positionals[0]);
  if (bench === undefined || positionals.length > 1) throw new Error(`name one bench: ${BENCHES.join(', ')}`);
  const { engine } = values;
  if (engine !== 'sqlite' && engine !== 'mysql') throw new Error('--engine: sqlite or mysql');
  return {
    bench,
    engine,
    json: values.json,
    runs: within('runs', values.runs),
    seconds: within('seconds', values.seconds),
    items: values.items === undefined ? ITEMS[bench][engine] : within('items', values.items),
    lanes: within('lanes', values.lanes),
    connections:
      values.connections === undefined ? CONNECTIONS[bench] : within('connections', values.connections),
    workers: values.workers === undefined ? WORKERS[bench] : within('workers', values.workers),
    share: within('share', values.share),
    payloadBytes: Number(values['payload-bytes']),
    metrics: values.metrics,
    profile: values.profile ?? null,
  };
}

function within(name: keyof typeof BOUNDS, text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= BOUNDS[name]))
    throw new Error(`--${name}: more than 0, at most ${BOUNDS[name]}`);
  if (name !== 'seconds' && name !== 'share' && !Number.isInteger(value))
    throw new Error(`--${name}: a whole number`);
  return value;
}
