import { expect, test } from 'vitest';
import { WorkEvents } from '../../src/scheduler/work-events.js';

const repaired = { packId: 1, marks: 2 };

test('a listener that throws or rejects is reported, and the others still hear', async () => {
  const errors: unknown[] = [];
  const heard: unknown[] = [];
  const events = new WorkEvents((error) => errors.push(error));
  events.on('repaired', () => {
    throw new Error('at once');
  });
  events.on('repaired', async () => {
    throw new Error('later');
  });
  events.on('repaired', (event) => heard.push(event));
  events.emit('repaired', repaired);
  await Promise.resolve();
  expect(heard).toEqual([repaired]);
  expect(errors).toEqual([new Error('at once'), new Error('later')]);
});

test('a removed listener hears no more', () => {
  const heard: unknown[] = [];
  const events = new WorkEvents();
  const off = events.on('repaired', (event) => heard.push(event));
  off();
  events.emit('repaired', repaired);
  expect(heard).toEqual([]);
});
