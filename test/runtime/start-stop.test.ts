import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLanehead, definePack, type LaneheadOptions, signatures } from '../../dist/index.js';

const SECRET = 'a secret';

describe('start and stop', () => {
  let folder: string;
  let ran: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lanehead-runtime-'));
    ran = [];
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const create = (changes: Partial<LaneheadOptions> = {}) =>
    createLanehead({
      packs: [
        definePack({
          name: 'code',
          version: '1.0.0',
          routes: {
            push: {
              version: 1,
              verify: signatures.github({ secret: SECRET }),
              materialize: (receipt) => ({
                deliveries: [
                  { key: receipt.header('x-github-delivery'), events: [{ type: 'push', sourceKey: 'site' }] },
                ],
              }),
              flow: (event) => void ran.push(event.deliveryKey),
            },
          },
        }),
      ],
      databaseUrl: `sqlite:${join(folder, 'store.db')}`,
      namespaces: ['acme'],
      ...changes,
    });

  async function push(delivery: string): Promise<Request> {
    const body = JSON.stringify({ delivery });
    return new Request('http://localhost/in/acme/code/push', {
      method: 'POST',
      body,
      headers: { 'x-github-delivery': delivery, 'x-hub-signature-256': await sign(SECRET, body) },
    });
  }

  it('serves in the process without a port, from request to finished work', async () => {
    const lanehead = create();
    expect(await lanehead.start()).toEqual({ url: null, adminUrl: null });
    for (const delivery of ['d1', 'd2', 'd3']) {
      expect((await lanehead.handle(await push(delivery))).status).toBe(202);
    }
    expect((await lanehead.handle(await push('d2'))).status).toBe(200);
    const stats = await lanehead.drainUntilIdle();
    expect(stats.packs).toMatchObject([
      { namespace: 'acme', pack: 'code', classes: { default: { completed: 3 } } },
    ]);
    expect(ran).toEqual(['d1', 'd2', 'd3']);
    await lanehead.stop();
  });

  it('an ingress admits and runs nothing; a worker runs what it finds and admits nothing', async () => {
    const ingress = create({ role: 'ingress' });
    await ingress.start();
    expect((await ingress.handle(await push('d1'))).status).toBe(202);
    expect((await ingress.stats()).packs[0]!.classes.default).toMatchObject({ ready: 1 });
    await ingress.stop();
    const worker = create({ role: 'worker' });
    await worker.start();
    expect((await worker.handle(await push('d2'))).status).toBe(404);
    await worker.drainUntilIdle();
    expect(ran).toEqual(['d1']);
    await worker.stop();
  });

  it('stopping before start, twice, and during start is safe', async () => {
    const never = create();
    await never.stop();
    await never.stop();
    await expect(never.start()).rejects.toMatchObject({ code: 'draining' });
    const during = create();
    const starting = during.start();
    const stopping = during.stop();
    await expect(starting).rejects.toMatchObject({ code: 'draining' });
    await stopping;
    await expect(during.stats()).rejects.toMatchObject({ code: 'draining' });
    const again = create();
    await again.start();
    await again.stop();
  });

  it('a start that fails closes what it had opened', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const adminPort = (free.address() as AddressInfo).port;
    free.close();
    const failing = create({ listen: { port }, admin: { port: adminPort } });
    await expect(failing.start()).rejects.toThrow(/EADDRINUSE/);
    await expect(fetch(`http://127.0.0.1:${adminPort}/livez`)).rejects.toThrow();
    await failing.stop();
    taken.close();
    const next = create({ admin: { port: adminPort } });
    const { adminUrl } = await next.start();
    expect(await (await fetch(`${adminUrl}/readyz`)).json()).toEqual({
      ready: true,
      checks: { store: 'ok', schema: 'ok', coverage: 'ok' },
    });
    await next.stop();
  });

  it('refuses to start with a secret that is missing for a namespace', async () => {
    const { packs } = {
      packs: [
        definePack({
          name: 'code',
          version: '1.0.0',
          routes: {
            push: {
              version: 1,
              verify: signatures.github({
                secret: ({ namespace }) => (namespace === 'acme' ? SECRET : undefined),
              }),
              materialize: () => ({ deliveries: [] }),
              flow: () => undefined,
            },
          },
        }),
      ],
    };
    await expect(create({ packs, namespaces: ['acme', 'globex'] }).start()).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringContaining('globex'),
    });
  });

  it('the admin listener binds loopback only', async () => {
    await expect(create({ admin: { host: '0.0.0.0', port: 0 } }).start()).rejects.toMatchObject({
      code: 'invalid_configuration',
    });
  });

  it('a second process for the same file is refused', async () => {
    const first = create();
    await first.start();
    await expect(create().start()).rejects.toMatchObject({ code: 'database_in_use' });
    symlinkSync(join(folder, 'store.db'), join(folder, 'link.db'));
    const linked = create({ databaseUrl: `sqlite:${join(folder, 'link.db')}` });
    await expect(linked.start()).rejects.toMatchObject({ code: 'database_in_use' });
    await first.stop();
  });
});
