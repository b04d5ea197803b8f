/** A process whose event loop stands still for longer than its lease, and another one that takes over. */
import { afterEach, expect, test } from 'vitest';
import { CrashBench, eventually } from '../support/crash-bench.js';
import { itemRows, mysqlCrashDatabase, transitionRows } from '../support/crash-database.js';
import { fill } from '../support/crash-fill.js';

const TIMEOUT_MS = 180_000;
/** Long enough for a busy machine to renew in: the one that takes over must not lose it again. */
const SPEC = { role: 'worker', drain: { leaseMs: 5_000, workersPerPack: 4 } } as const;

let bench: CrashBench;
afterEach(() => bench.close());

test(
  '[OWN-5, EXE-3] event loop blocked for longer than the lease, then finish → stale token rejected, one completion',
  async () => {
    bench = new CrashBench(await mysqlCrashDatabase());
    const sent = await fill(bench.database, { items: 2, lanes: 1 });
    const first = sent[0]!.item;
    const row = async () => (await itemRows(bench.database)).find(({ item }) => item === first)!;
    const [wake, go] = [bench.signal('wake'), bench.signal('go')];
    const blocked = bench.spawn('blocked', { ...SPEC, behaviour: { kind: 'block', path: wake } });
    await eventually(() => bench.ledger.live('blocked').length === 1, 'the event loop is blocked');
    const other = bench.spawn('other', { ...SPEC, behaviour: { kind: 'gate', path: go } });
    await eventually(() => bench.ledger.live('other').length === 1, 'the other process has taken over');
    bench.raise(wake);
    const isRefused = () => blocked.messages.some(({ msg }) => msg === 'outcome refused: the lease was lost');
    await eventually(
      async () => isRefused() || (await row()).state !== 'processing',
      'the late outcome is answered',
    );
    expect([isRefused(), (await row()).state]).toEqual([true, 'processing']);
    // It would rightly take the second item, had it the chance.
    expect(await blocked.terminate()).toEqual({ code: 0, signal: null });
    bench.raise(go);
    await eventually(() => bench.ledger.finished('other') === 2, 'the other process does it all');
    expect(await other.terminate()).toEqual({ code: 0, signal: null });

    expect(await bench.violations(sent)).toEqual([]);
    expect((await row()).failures).toBe(1);
    const completions = (await transitionRows(bench.database)).filter(({ to }) => to === 'completed');
    expect(completions.map(({ item }) => item)).toEqual(sent.map(({ item }) => item));
    expect(completions[0]!.epoch).toBeGreaterThan(1);
    expect(bench.ledger.finished('blocked')).toBe(1);
  },
  TIMEOUT_MS,
);
