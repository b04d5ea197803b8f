import { describe, expect, it } from 'vitest';
import { Inbox, type InboxClass } from '../../src/threads/inbox.js';
import { turns } from '../support/manual-clock.js';

/** Turns by hand. */
function manual() {
  const turns: (() => void)[] = [];
  return {
    inbox: new Inbox((fire) => void turns.push(fire)),
    turn: () => turns.shift()?.(),
    get waiting() {
      return turns.length;
    },
  };
}

describe('inbox of the store thread', () => {
  it('[TRM-1, ADM-4] serves leases first, then admission, then outcomes, claims and people, whatever came first', async () => {
    const at = manual();
    const order: string[] = [];
    const came = ['people', 'claims', 'outcomes', 'admission', 'leases', 'leases'] as const;
    const done = came.map((name, i) => at.inbox.submit(name, async () => void order.push(`${name} ${i}`)));
    for (let i = 0; i < 6; i++) at.turn();
    await Promise.all(done);
    expect(order).toEqual(['leases 4', 'leases 5', 'admission 3', 'outcomes 2', 'claims 1', 'people 0']);
  });

  it('lets what arrives between two jobs overtake what waits', async () => {
    const at = manual();
    const order: string[] = [];
    const flood = Array.from({ length: 3 }, (_, i) =>
      at.inbox.submit('admission', async () => void order.push(`a${i}`)),
    );
    at.turn();
    const late = at.inbox.submit('leases', async () => void order.push('renew'));
    for (let i = 0; i < 3; i++) at.turn();
    await Promise.all([...flood, late]);
    expect(order).toEqual(['a0', 'renew', 'a1', 'a2']);
  });

  it('[ADM-4] between two commits of admission there is one job of the drain at most', async () => {
    const at = manual();
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const jobs = Array.from({ length: 4 }, () => [
      at.inbox.submit('outcomes', note('o')),
      at.inbox.submit('claims', note('c')),
      at.inbox.submit('admission', note('a')),
    ]).flat();
    for (let i = 0; i < 4; i++) at.turn();
    jobs.push(at.inbox.submit('leases', note('L')));
    for (let i = 0; i < 9; i++) at.turn();
    await Promise.all(jobs);
    expect(order.join('')).toBe('aoacLaoacococ');
  });

  it('[TRM-2] a flood of admission holds up a claim for one commit, and people for a few jobs', async () => {
    const at = manual();
    const order: string[] = [];
    const note = (name: string) => async () => void order.push(name);
    const jobs = [at.inbox.submit('people', note('P'))];
    for (let i = 0; i < 6; i++) {
      jobs.push(at.inbox.submit('admission', note('a')), at.inbox.submit('claims', note('c')));
    }
    for (let i = 0; i < 13; i++) at.turn();
    await Promise.all(jobs);
    expect(order.join('')).toBe('acacacaPacacc');
  });

  it.each([
    ['admission', 1],
    ['outcomes', 7],
    ['claims', 3],
    ['people', 9],
  ] as const)(
    '[TRM-2, ADM-4] whatever keeps coming, %s waits for %i other jobs at most',
    async (waiting, most) => {
      const at = manual();
      const jobs: Promise<void>[] = [];
      let served = 0;
      let worst = 0;
      const flood = (name: InboxClass): void => {
        jobs.push(at.inbox.submit(name, async () => void served++));
        if (jobs.length < 400) void jobs.at(-1)!.then(() => flood(name));
      };
      const wait = (): void => {
        const before = served;
        const job = at.inbox.submit(waiting, async () => {
          worst = Math.max(worst, served - before);
        });
        jobs.push(job);
        if (jobs.length < 400) void job.then(wait);
      };
      for (const name of ['admission', 'outcomes', 'claims', 'people'] as const) {
        if (name === waiting) continue;
        flood(name);
        flood(name);
      }
      wait();
      for (; at.waiting > 0; await turns(1)) at.turn();
      await Promise.all(jobs);
      expect(served).toBeGreaterThan(200);
      expect(worst).toBe(most);
    },
  );

  it('gives each asker its own result or error, and asks for no turn when nothing waits', async () => {
    const at = manual();
    const good = at.inbox.submit('people', async () => 7);
    const bad = at.inbox.submit('people', async () => {
      throw new Error('no');
    });
    at.turn();
    at.turn();
    expect(await good).toBe(7);
    await expect(bad).rejects.toThrow('no');
    expect(at.waiting).toBe(0);
    expect(at.inbox.depth).toBe(0);
  });
});
