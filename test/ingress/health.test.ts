import { expect, test } from 'vitest';
import { deliver, eventually, startIngress } from './ingress-fixture.js';
import { ManualClock } from './manual-clock.js';

const works = async (): Promise<void> => {};
const fails = async (): Promise<void> => {
  throw new Error('secret connection string');
};

test('/livez is 200 as long as the process answers', async () => {
  const { url, ingress, decisions } = await startIngress({ checks: { store: fails } });
  for (const method of ['GET', 'HEAD']) expect((await fetch(`${url}/livez`, { method })).status).toBe(200);
  ingress.beginDrain();
  expect((await fetch(`${url}/livez`)).status).toBe(200);
  expect(decisions).toEqual([]);
});

test('/readyz is 200 with every check by name when all are ok', async () => {
  const { url } = await startIngress({ checks: { store: works, schema: works, coverage: works } });
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(200);
  expect(await response.text()).toBe('{"ready":true,"checks":{"store":"ok","schema":"ok","coverage":"ok"}}');
});

test('/readyz is 503 when a check fails, and says which, not why', async () => {
  const { url } = await startIngress({ checks: { store: works, schema: fails } });
  const response = await fetch(`${url}/readyz`);
  expect(response.status).toBe(503);
  expect(await response.json()).toEqual({ ready: false, checks: { store: 'ok', schema: 'failed' } });
});

test('/readyz asks the real store', async () => {
  const { url, store } = await startIngress();
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  await store.close();
  expect(await (await fetch(`${url}/readyz`)).json()).toEqual({ ready: false, checks: { store: 'failed' } });
});

test('/readyz is bounded: a check that does not return is a timeout, and askers share one look', async () => {
  const clock = new ManualClock();
  let asked = 0;
  const hangs = (): Promise<never> => {
    asked += 1;
    return new Promise(() => {});
  };
  const { url } = await startIngress({ clock, checks: { store: hangs } });
  const askers = Array.from({ length: 5 }, () => fetch(`${url}/readyz`));
  await eventually(() => clock.waiting).toBe(1);
  // A later request that was answered shows that the five have been looked at.
  expect((await deliver(url, { path: '/none' })).status).toBe(404);
  clock.advance(2_000);
  for (const asker of askers) {
    expect(await (await asker).json()).toEqual({ ready: false, checks: { store: 'timeout' } });
  }
  expect(asked).toBe(1);
});

test('a probe with another method is 405 with Allow', async () => {
  const { url } = await startIngress();
  for (const path of ['/livez', '/readyz']) {
    const response = await fetch(url + path, { method: 'POST', body: 'x' });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  }
});
