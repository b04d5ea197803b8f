import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sign } from '@octokit/webhooks-methods';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLanehead, definePack, type FlowContext, type Lanehead, signatures } from '../../dist/index.js';
import { openStore } from '../../src/runtime/open-store.js';
import { gate } from '../support/work-bench.js';

const SECRET = 'a secret';

describe('packs of a running system', () => {
  let folder: string;
  let ran: string[];
  let lanehead: Lanehead;
  let held: ReturnType<typeof gate>;

  const packOf = (
    name: string,
    version = '1.0.0',
    { secret = SECRET, routes = ['push'], deaf = false } = {},
  ) => {
    const route = {
      version: 1,
      verify: signatures.github({ secret: () => secret }),
      materialize: (receipt: { header(name: string): string | undefined }) => {
        const key = receipt.header('x-github-delivery')!;
        return { deliveries: [{ key, events: [{ type: 'push', sourceKey: key.split(' ')[0]! }] }] };
      },
      flow: async ({ deliveryKey }: { deliveryKey: string }, ctx: FlowContext) => {
        ran.push(`${name} ${version} ${deliveryKey}`);
        if (deaf) await new Promise(() => undefined);
        if (deliveryKey.endsWith('waits')) await held.opened;
        ctx.signal.throwIfAborted();
      },
    };
    return definePack({ name, version, routes: Object.fromEntries(routes.map((one) => [one, route])) });
  };

  const databaseUrl = () => `sqlite:${join(folder, 'store.db')}`;
  const create = () =>
    createLanehead({
      packs: [packOf('code')],
      databaseUrl: databaseUrl(),
      namespaces: ['acme'],
      drain: { workersPerPack: 1 },
    });

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'lanehead-packs-'));
    ran = [];
    held = gate();
    lanehead = create();
    await lanehead.start();
  });
  afterEach(async () => {
    held.open();
    await lanehead.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function push(delivery: string, path = 'acme/code/push'): Promise<Response> {
    const body = JSON.stringify({ delivery });
    const headers = { 'x-github-delivery': delivery, 'x-hub-signature-256': await sign(SECRET, body) };
    return lanehead.handle(new Request(`http://localhost/in/${path}`, { method: 'POST', body, headers }));
  }

  const status = async (delivery: string, path?: string) => (await push(delivery, path)).status;
  const hasRun = (line: string) => expect.poll(() => ran.includes(line), { timeout: 20_000 }).toBe(true);

  test('one that is added is installed, admits and runs', async () => {
    expect(await status('d1', 'acme/other/push')).toBe(404);
    await lanehead.usePacks([packOf('code'), packOf('other')]);
    expect(await status('d1', 'acme/other/push')).toBe(202);
    expect(await status('d1')).toBe(202);
    await lanehead.drainUntilIdle();
    expect(ran.sort()).toEqual(['code 1.0.0 d1', 'other 1.0.0 d1']);
  });

  test('[SCH-2] a new version takes over what is open; a flow in flight ends under the version it began with', async () => {
    expect(await status('a waits')).toBe(202);
    expect(await status('a next')).toBe(202);
    expect(await status('b free')).toBe(202);
    await hasRun('code 1.0.0 a waits');
    await lanehead.usePacks([packOf('code', '2.0.0')]);
    await hasRun('code 2.0.0 b free');
    held.open();
    const { packs } = await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 a waits', 'code 2.0.0 b free', 'code 2.0.0 a next']);
    expect(packs).toMatchObject([{ generation: 2, classes: { default: { completed: 3 } } }]);
  });

  test('a changed definition of the same version, with a new route, is served at once', async () => {
    await lanehead.usePacks([packOf('code', '1.0.0', { routes: ['push', 'late'] })]);
    expect(await status('d1', 'acme/code/late')).toBe(202);
    await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 d1']);
  });

  test('one that is removed answers 404, ends what runs, and leaves its open work to whoever knows it', async () => {
    expect(await status('a waits')).toBe(202);
    expect(await status('b')).toBe(202);
    await hasRun('code 1.0.0 a waits');
    await lanehead.usePacks([packOf('other')]);
    const refused = await push('c');
    expect(refused.status).toBe(404);
    expect(await refused.json()).toMatchObject({ code: 'unknown_route' });
    held.open();
    const counts = async () =>
      (await lanehead.stats()).packs.find(({ pack }) => pack === 'code')?.classes.default;
    await expect.poll(counts, { timeout: 20_000 }).toMatchObject({ completed: 1, ready: 1, processing: 0 });
    await lanehead.usePacks([packOf('code')]);
    await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 a waits', 'code 1.0.0 b']);
  });

  test('namespaces come and go with them', async () => {
    expect(await status('d1', 'globex/code/push')).toBe(404);
    await lanehead.usePacks([packOf('code')], { namespaces: ['globex'] });
    expect(await status('d1', 'globex/code/push')).toBe(202);
    expect(await status('d1')).toBe(404);
    await lanehead.usePacks([packOf('code', '1.0.1')]);
    expect(await status('d2', 'globex/code/push')).toBe(202);
    await lanehead.drainUntilIdle();
    expect(ran).toContain('code 1.0.1 d2');
  });

  test.each([
    [
      'a secret that is missing',
      () => [packOf('code', '2.0.0'), packOf('other', '1.0.0', { secret: '' })],
      /other/,
    ],
    ['a name given twice', () => [packOf('code', '2.0.0'), packOf('code')], /given twice/],
    ['what definePack did not make', () => [packOf('code', '2.0.0'), {} as never], /packs\[?\.?1/],
    ['no pack at all', () => [], /at least one/],
  ])('%s changes nothing and says why', async (_what, packs, message) => {
    await expect(lanehead.usePacks(packs())).rejects.toMatchObject({
      code: 'invalid_configuration',
      message: expect.stringMatching(message),
    });
    expect(await status('d1')).toBe(202);
    const { packs: after } = await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 d1']);
    expect(after).toMatchObject([{ pack: 'code', generation: 1 }]);
  });

  test('a paused one refuses with 503 and claims nothing; resumed, it goes on with what it has', async () => {
    expect(await status('a waits')).toBe(202);
    expect(await status('b')).toBe(202);
    await hasRun('code 1.0.0 a waits');
    await lanehead.pausePack('code');
    await lanehead.pausePack('code', { namespaces: ['acme'] });
    const refused = await push('c');
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ code: 'paused' });
    held.open();
    const counts = async () => (await lanehead.stats()).packs[0]!.classes.default;
    await expect.poll(counts, { timeout: 20_000 }).toMatchObject({ completed: 1, ready: 1, processing: 0 });
    expect(ran).toEqual(['code 1.0.0 a waits']);
    await lanehead.usePacks([packOf('code', '1.0.1')]);
    expect(await status('c')).toBe(503);
    await lanehead.resumePack('code');
    await lanehead.resumePack('code');
    expect(await status('c')).toBe(202);
    await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 a waits', 'code 1.0.1 b', 'code 1.0.1 c']);
  });

  test('one that another process pauses and resumes is paused and resumed here', async () => {
    const settings = { databaseUrl: databaseUrl(), unsafeDurability: false, poolSize: 1 };
    const beside = await openStore(settings);
    const { packId } = (await beside.listPacks())[0]!;
    await beside.setPackStatus(packId, 'paused');
    // What comes before it is known here is refused by the store itself.
    expect(await status('d1')).toBe(503);
    await beside.setPackStatus(packId, 'active');
    await expect.poll(() => status('d2'), { timeout: 20_000 }).toBe(202);
    await beside.close();
    await lanehead.drainUntilIdle();
    expect(ran).toEqual(['code 1.0.0 d2']);
  });

  test('a pack that is not installed cannot be paused, and a retired one not resumed', async () => {
    await expect(lanehead.pausePack('other')).rejects.toMatchObject({ code: 'not_found' });
    await expect(lanehead.pausePack('code', { namespaces: ['globex'] })).rejects.toMatchObject({
      code: 'not_found',
    });
    const beside = await openStore({ databaseUrl: databaseUrl(), unsafeDurability: false, poolSize: 1 });
    const { packId } = (await beside.listPacks())[0]!;
    await beside.setPackStatus(packId, 'retired');
    await beside.close();
    await expect(lanehead.resumePack('code')).rejects.toMatchObject({ code: 'invalid_argument' });
    await lanehead.usePacks([packOf('code')]);
    expect(await status('d1')).toBe(410);
  });

  test('before start and after stop there is nothing to change', async () => {
    await lanehead.stop();
    await expect(lanehead.usePacks([packOf('code')])).rejects.toMatchObject({ code: 'draining' });
    await expect(lanehead.pausePack('code')).rejects.toMatchObject({ code: 'draining' });
    await expect(lanehead.start()).rejects.toMatchObject({ code: 'draining' });
    await expect(create().usePacks([packOf('code')])).rejects.toMatchObject({ code: 'draining' });
  });

  test('a stop with a flow that hears nothing is bounded; its lease runs out, and another life takes it over', async () => {
    await lanehead.stop();
    const drain = { workersPerPack: 1, leaseMs: 500, stopGraceMs: 100 };
    const common = { databaseUrl: databaseUrl(), namespaces: ['acme'], drain };
    lanehead = createLanehead({ ...common, packs: [packOf('code', '1.0.0', { deaf: true })] });
    await lanehead.start();
    expect(await status('a')).toBe(202);
    const counts = async () => (await lanehead.stats()).packs[0]!.classes.default;
    await expect.poll(counts, { timeout: 20_000 }).toMatchObject({ processing: 1 });
    await lanehead.stop({ timeoutMs: 1 });
    lanehead = createLanehead({ ...common, packs: [packOf('code')] });
    await lanehead.start();
    // Not before the lease of the first life is over.
    await expect.poll(() => ran, { timeout: 20_000 }).toEqual(['code 1.0.0 a', 'code 1.0.0 a']);
  });
});
