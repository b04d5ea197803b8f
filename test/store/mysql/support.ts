import { createConnection, type RowDataPacket } from 'mysql2/promise';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/core/system.js';
import { type MysqlDriver, openMysqlDriver } from '../../../src/store/dialects/mysql/driver.js';
import type { MysqlDriverOptions, MysqlStep } from '../../../src/store/dialects/mysql/options.js';
import type { Statement } from '../../../src/store/statement.js';

/** A statement of a test; it stays out of the registry that the lint reads. */
export const statement = (kind: Statement['kind'], name: string, text: string): Statement => ({
  name,
  kind,
  maxSize: 1,
  sql: () => text,
});

/** A driver that is closed when the test ends. */
export async function openDriver(
  url: string,
  options: Partial<MysqlDriverOptions> = {},
): Promise<MysqlDriver> {
  const driver = await openMysqlDriver({ url, clock: systemClock, closeTimeoutMs: 1_000, ...options });
  onTestFinished(() => driver.close());
  return driver;
}

/** Runs one statement beside the driver under test and returns its rows. */
export async function ask(url: string, text: string): Promise<readonly Record<string, unknown>[]> {
  const connection = await createConnection(url);
  try {
    const [rows] = await connection.query<RowDataPacket[]>(text);
    return rows;
  } finally {
    await connection.end();
  }
}

const POLL_MS = 5;
const POLL_LIMIT_MS = 20_000;

/** Waits until `condition` holds; an error after twenty seconds. */
export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + POLL_LIMIT_MS;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`gave up waiting until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Ends connection `id` from outside and waits until the server has forgotten it. */
export async function killConnection(url: string, id: number): Promise<void> {
  await ask(url, `KILL CONNECTION ${id}`);
  await untilGone(url, id);
}

export const untilGone = (url: string, id: number): Promise<void> =>
  until(`connection ${id} is gone`, async () => {
    const rows = await ask(url, `SELECT ID FROM information_schema.PROCESSLIST WHERE ID = ${id}`);
    return rows.length === 0;
  });

/** Something that happens once, and that both sides can wait for. */
export interface Signal {
  readonly happened: Promise<void>;
  send(): void;
}

export function signal(): Signal {
  let send = () => {};
  const happened = new Promise<void>((resolve) => {
    send = resolve;
  });
  return { happened, send };
}

/** An `onStatement` that holds the named step until `gate` opens, and says through `reached` that it got there. */
export function hold(name: string): {
  onStatement: (step: MysqlStep) => Promise<void>;
  reached: Signal;
  gate: Signal;
  connectionId: () => number;
} {
  const reached = signal();
  const gate = signal();
  let id = 0;
  return {
    reached,
    gate,
    connectionId: () => id,
    onStatement: async (step) => {
      if (step.name !== name) return;
      id = step.connectionId;
      reached.send();
      await gate.happened;
    },
  };
}

/** The error a promise was rejected with; fails when it was not. */
export async function failureOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (error: Error) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`it did not fail but returned ${JSON.stringify(outcome.value)}`);
}
