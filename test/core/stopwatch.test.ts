import { expect, test } from 'vitest';
import { type AdmissionStage, Stopwatch } from '../../src/core/stopwatch.js';
import { ManualClock } from '../support/manual-clock.js';

test('[MET-5] a stopwatch leaves no time between its laps, and stages that were not passed are not there', async () => {
  const clock = new ManualClock();
  const stopwatch = new Stopwatch<AdmissionStage>(clock);
  await clock.advance(5);
  stopwatch.lap('read');
  await clock.advance(7);
  stopwatch.lap('verify');
  await clock.advance(1);
  expect(stopwatch.times).toEqual({ read: 5, verify: 7 });
  expect(stopwatch.elapsedMs).toBe(13);
});
