import { describe, expect, test } from 'vitest';
import { LimitTurns, type TurnTaker } from '../../src/scheduler/limit-turns.js';
import { ManualClock } from '../support/manual-clock.js';

class Taker implements TurnTaker {
  turns = 0;

  takeTurn(): boolean {
    this.turns++;
    return true;
  }
}

const NO_PLACE = { found: false, denied: true };

/** All of them in line, and the first one's turn. */
function lineOf(...takers: readonly Taker[]): LimitTurns {
  const order = new LimitTurns(new ManualClock());
  for (const taker of takers) order.ended(taker, NO_PLACE);
  order.freed();
  return order;
}

describe('[LIM-1] turns under a limit', () => {
  test('who finds no place in its turn waits for the next one that is freed', async () => {
    const [first, second] = [new Taker(), new Taker()];
    const order = lineOf(first, second);
    await order.mine(first);
    order.ended(first, NO_PLACE);
    expect([first.turns, second.turns]).toEqual([1, 0]);
    order.freed();
    expect([first.turns, second.turns]).toEqual([2, 0]);
  });

  test('a place that is freed after its scan began is looked for at once', async () => {
    const first = new Taker();
    const order = lineOf(first);
    await order.mine(first);
    order.freed();
    order.ended(first, NO_PLACE);
    expect(first.turns).toBe(2);
  });

  test('a scan that began before its turn says nothing about it', async () => {
    const [first, second] = [new Taker(), new Taker()];
    const order = lineOf(first, second);
    await order.mine(first);
    order.ended(first, { found: true, denied: false });
    order.ended(second, NO_PLACE);
    expect([first.turns, second.turns]).toEqual([1, 2]);
  });
});
