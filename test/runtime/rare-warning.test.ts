import { expect, test } from 'vitest';
import { RareWarning } from '../../src/runtime/rare-warning.js';
import { ManualClock } from '../support/manual-clock.js';

test('a warning comes at the first time, then once a minute, and says how often it was due', async () => {
  const clock = new ManualClock();
  const said: [number, object][] = [];
  const warning = new RareWarning(clock, (times, fields) => said.push([times, fields]));
  for (const reason of ['first', 'second', 'third']) warning.due({ reason });
  expect(said).toEqual([[1, { reason: 'first' }]]);
  await clock.advance(60_000);
  warning.due({ reason: 'fourth' });
  expect(said.slice(1)).toEqual([[3, { reason: 'fourth' }]]);
});
