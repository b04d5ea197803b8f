/** Thousands of whole lives in one process, judged by what they leave: no timer, socket, file, thread, listener, lease. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { CrashDatabase } from '../support/crash-database.js';
import { inWords, STRESS_TIMEOUT_MS, stressed } from './stress-options.js';

const ROOT = join(import.meta.dirname, '../..');
const PROGRAM = join(import.meta.dirname, 'start-stop-process.mjs');
/** Less than what a single store, server or supervisor takes, times the cycles of the smallest run. */
const MOST_GROWTH_BYTES = 4 * 2 ** 20;
const KEPT_STDERR = 4_000;

interface Sample {
  readonly done: number;
  readonly left: Readonly<Record<string, unknown>>;
  readonly heapBytes: number;
}

async function samplesOf(databaseUrl: string, cycles: number): Promise<readonly Sample[]> {
  const argument = JSON.stringify({ product: join(ROOT, 'dist/index.js'), databaseUrl, cycles });
  const child = fork(PROGRAM, [argument], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const samples: Sample[] = [];
  let stderr = '';
  child.on('message', (sample: Sample) => void samples.push(sample));
  child.stderr!.on('data', (text) => {
    stderr = (stderr + text).slice(-KEPT_STDERR);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`it ended with ${code} after ${samples.at(-1)?.done} cycles: ${stderr}`);
  return samples;
}

export function testStartStop(open: () => Promise<CrashDatabase>, name: string, whole: number): void {
  const cycles = stressed(whole);
  test(
    `${inWords(cycles)} starts and stops on ${name}, in every state of both → nothing is left behind`,
    async () => {
      const database = await open();
      onTestFinished(() => database.close());
      const samples = await samplesOf(database.url, cycles);
      const [first, ...others] = samples;
      expect(others.length).toBeGreaterThan(1);
      expect(others.at(-1)!.done).toBe(cycles);
      for (const { left } of others) expect(left).toEqual(first!.left);
      const growth = others.map(({ heapBytes }) => heapBytes - first!.heapBytes);
      console.info(`${name}: ${JSON.stringify({ cycles, left: first!.left, growth })}`);
      expect(Math.min(...growth.slice(-3))).toBeLessThan(MOST_GROWTH_BYTES);
      const held = await database.sql(
        "SELECT WorkId FROM _System_ConnectorWorkItem WHERE State = 'processing'",
      );
      expect(held).toEqual([]);
      const items = await database.sql('SELECT WorkId FROM _System_ConnectorWorkItem');
      expect(items.length).toBeGreaterThan(cycles / 2);
    },
    STRESS_TIMEOUT_MS,
  );
}
