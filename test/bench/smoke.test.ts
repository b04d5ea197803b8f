import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Figures, Report } from '../../bench/figures.js';
import { mysqlUrl } from '../support/mariadb.js';

const TIMEOUT_MS = 240_000;
const run = promisify(execFile);

beforeAll(() => run('npx', ['tsc', '-p', 'bench/tsconfig.json']), TIMEOUT_MS);

/** The last line of a bench as small as it can be; rejects when it ends with a failure. */
async function bench(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Report> {
  const command = ['.tmp/bench/bench/main.js', ...args, '--json'];
  const { stdout } = await run('node', command, { env: { ...process.env, ...env } });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Report;
}

const FIGURES: Figures = {
  perSecond: expect.any(Number),
  p50Ms: expect.any(Number),
  p99Ms: expect.any(Number),
  cpuMicros: expect.any(Number),
};

const DRAIN = ['drain', '--runs', '1', '--items', '120', '--lanes', '10', '--workers', '8'];

describe('npm run bench', () => {
  test(
    '[ADM-1] admission finds every acknowledged event in the store, and ends with its figures',
    async () => {
      const few = '--runs 1 --seconds 1 --items 20000 --payload-bytes 512 --connections 4';
      const report = await bench(['admission', ...few.split(' ')]);
      expect(report).toMatchObject({
        bench: 'admission',
        engine: 'sqlite',
        runs: [FIGURES],
        median: FIGURES,
        noopPerSecond: expect.any(Number),
        peers: { doNothing: FIGURES },
        missing: 0,
      });
      expect(report.acknowledged).toBeGreaterThan(0);
      expect(report.median.perSecond).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    '[OWN-2] drain on SQLite completes every item once and in order',
    async () => {
      expect(await bench(DRAIN)).toMatchObject({
        bench: 'drain',
        engine: 'sqlite',
        runs: [FIGURES],
        median: FIGURES,
        noopPerSecond: null,
        peers: { bareLoop: FIGURES },
        missing: 0,
        orderViolations: 0,
      });
    },
    TIMEOUT_MS,
  );

  test(
    '[OWN-2] drain on a MySQL server completes every item once and in order',
    async () => {
      const report = await bench([...DRAIN, '--engine', 'mysql'], {
        LANEHEAD_TEST_MYSQL_URL: await mysqlUrl(),
      });
      expect(report).toMatchObject({ engine: 'mysql', missing: 0, orderViolations: 0 });
    },
    TIMEOUT_MS,
  );

  test(
    'shed compares what a refusal costs with the do-nothing server',
    async () => {
      const few = '--runs 1 --seconds 1 --items 200 --payload-bytes 512 --connections 4';
      const report = await bench(['shed', ...few.split(' ')]);
      expect(report).toMatchObject({ bench: 'shed', median: FIGURES, peers: { doNothing: FIGURES } });
      expect(report.ratio).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    '[ADM-2] overload ends with everything stored and drained in order',
    async () => {
      const few = '--runs 1 --seconds 0.5 --items 3000 --payload-bytes 512 --connections 400 --lanes 20';
      const report = await bench(['overload', ...few.split(' ')]);
      expect(report).toMatchObject({ bench: 'overload', missing: 0, orderViolations: 0 });
    },
    TIMEOUT_MS,
  );

  test(
    'foreground measures admission beside a drain and without it',
    async () => {
      const few = '--runs 1 --seconds 0.5 --items 2000 --payload-bytes 512 --connections 4 --workers 4';
      const report = await bench(['foreground', ...few.split(' ')]);
      expect(report).toMatchObject({ bench: 'foreground', median: FIGURES, peers: { alone: FIGURES } });
    },
    TIMEOUT_MS,
  );

  test(
    '[RSV-4] classes starts every urgent item under each profile, and in the undivided pool',
    async () => {
      const few = '--runs 1 --seconds 0.5 --items 400 --lanes 20 --payload-bytes 512 --workers 4';
      const report = await bench(['classes', ...few.split(' ')]);
      const division = { ...FIGURES, defaultP99Ms: expect.any(Number), bulkRatio: expect.any(Number) };
      expect(report).toMatchObject({
        bench: 'classes',
        median: FIGURES,
        peers: { undivided: FIGURES },
        divisions: { reserved: division, 'default-heavy': division, undivided: division },
        missing: 0,
      });
    },
    TIMEOUT_MS,
  );

  test('a command line that names no bench is a usage error', async () => {
    await expect(bench(['admision'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('name one bench'),
    });
  });
});
