import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly bench: 'admission' | 'drain';
  readonly engine: 'sqlite' | 'mysql';
  /** Ends with one line of JSON instead of a table. */
  readonly json: boolean;
  /** The median of these is the result. */
  readonly runs: number;
  /** Measured time of each contestant in each run of `admission`; up to two seconds of warm-up come before it. */
  readonly seconds: number;
  /** `admission`: different requests, so the most one run can admit. `drain`: items to drain. */
  readonly items: number;
  /** `drain`: lanes they lie in. */
  readonly lanes: number;
  /** `admission`: keep-alive connections. */
  readonly connections: number;
  /** `drain`: executor slots of the product. */
  readonly workers: number;
  /** Bytes of one GitHub push payload. */
  readonly payloadBytes: number;
  /** The product serves `/metrics`, and so counts. */
  readonly metrics: boolean;
  /** Folder for the CPU profiles of the measured processes; `null`: none are taken. */
  readonly profile: string | null;
}

export const USAGE = `npm run bench -- admission|drain [--engine sqlite|mysql] [--json] [--runs 3] [--seconds 4]
  [--items N] [--lanes 1000] [--connections 64] [--workers 256] [--payload-bytes 7168] [--metrics] [--profile FOLDER]`;

const BOUNDS = {
  runs: 20,
  seconds: 60,
  items: 1_000_000,
  lanes: 100_000,
  connections: 1_000,
  workers: 4_096,
};

const ITEMS = {
  admission: { sqlite: 40_000, mysql: 40_000 },
  drain: { sqlite: 50_000, mysql: 20_000 },
} as const;

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
      connections: { type: 'string', default: '64' },
      workers: { type: 'string', default: '256' },
      'payload-bytes': { type: 'string', default: '7168' },
      metrics: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  });
  const [bench, ...rest] = positionals;
  if ((bench !== 'admission' && bench !== 'drain') || rest.length > 0)
    throw new Error('name one bench: admission or drain');
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
    connections: within('connections', values.connections),
    workers: within('workers', values.workers),
    payloadBytes: Number(values['payload-bytes']),
    metrics: values.metrics,
    profile: values.profile ?? null,
  };
}

function within(name: keyof typeof BOUNDS, text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= BOUNDS[name]))
    throw new Error(`--${name}: more than 0, at most ${BOUNDS[name]}`);
  if (name !== 'seconds' && !Number.isInteger(value)) throw new Error(`--${name}: a whole number`);
  return value;
}
