import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Stripe from 'stripe';
import { describe, expect, test } from 'vitest';
import { packLoader } from '../../src/cli/pack-loader.js';
import { ROOT, sourceText } from '../house/sources.js';
import { runHere, SLOW, serve, temporaryFolder } from './processes.js';

const SECRET = 'whsec_known_to_both';

async function served(name: 'github' | 'stripe', secretVariable: string) {
  const around = { folder: temporaryFolder(), environment: { [secretVariable]: SECRET } };
  const serving = await serve([join(ROOT, `examples/${name}.ts`), '--namespace', 'acme'], around);
  const url = `${serving.listening.url}/in/acme/${name}/events`;
  const post = async (body: string, headers: Record<string, string>) => {
    const response = await fetch(url, { method: 'POST', body, headers });
    return [response.status, ((await response.json()) as { events?: number }).events];
  };
  const states = async () => {
    const { stdout } = await runHere(['events', 'list', '--json'], { folder: around.folder });
    const { items } = JSON.parse(stdout) as { items: { type: string; sourceKey: string; state: string }[] };
    return items.map(({ type, sourceKey, state }) => `${type} ${sourceKey} ${state}`);
  };
  return { post, states };
}

test('the first pack of the README loads as it stands there', async () => {
  const [, text] = /```ts\n(\/\/ github\.ts\n.*?)```/s.exec(sourceText('README.md'))!;
  const file = join(temporaryFolder(), 'github.ts');
  writeFileSync(file, text!);
  expect(await packLoader().load([file])).toMatchObject([{ name: 'github', version: '1.0.0' }]);
});

describe('examples served by the command', SLOW, () => {
  test('github: an event of a repository, a ping, a wrong signature', async () => {
    const { post, states } = await served('github', 'GITHUB_WEBHOOK_SECRET');
    const signed = (body: string, event: string, id: string, secret = SECRET) =>
      post(body, {
        'x-github-event': event,
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      });
    const body = JSON.stringify({ action: 'opened', repository: { full_name: 'octo-org/octo-repo' } });
    expect(await signed('{"zen":"x"}', 'ping', '1')).toEqual([202, 0]);
    expect(await signed(body, 'issues', '2')).toEqual([202, 1]);
    expect(await signed(body, 'issues', '2')).toEqual([200, 1]);
    expect(await signed(body, 'issues', '3', 'wrong')).toEqual([401, undefined]);
    await expect.poll(states, { timeout: 120_000 }).toEqual(['issues octo-org/octo-repo completed']);
  });

  test('stripe: an invoice is booked, another event is skipped, a redelivery is a duplicate', async () => {
    const { post, states } = await served('stripe', 'STRIPE_WEBHOOK_SECRET');
    const signed = (payload: string) =>
      post(payload, {
        'stripe-signature': Stripe.webhooks.generateTestHeaderString({ payload, secret: SECRET }),
      });
    const event = (id: string, type: string, object: string) =>
      JSON.stringify({ id, object: 'event', type, data: { object: { id: object } } });
    expect(await signed(event('evt_1', 'invoice.paid', 'in_1'))).toEqual([202, 1]);
    expect(await signed(event('evt_2', 'customer.created', 'cus_1'))).toEqual([202, 1]);
    expect(await signed(event('evt_1', 'invoice.paid', 'in_1'))).toEqual([200, 1]);
    await expect
      .poll(states, { timeout: 120_000 })
      .toEqual(['invoice.paid in_1 completed', 'customer.created cus_1 skipped']);
  });
});
