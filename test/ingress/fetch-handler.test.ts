import { expect, test } from 'vitest';
import { BODY_LIMIT_BYTES, PUSH, sign, startIngress } from './ingress-fixture.js';

const at = (path: string): string => `https://hooks.example${path}`;

function push(
  body: string | ReadableStream,
  signature = sign(PUSH),
  headers: Record<string, string> = {},
): Request {
  return new Request(at('/in/acme/code/push?from=here'), {
    method: 'POST',
    body,
    duplex: 'half',
    headers: { 'x-hub-signature-256': signature, 'x-github-delivery': 'd-1', ...headers },
  });
}

test('[ADM-1] a Request in the process takes the same way as one from the network', async () => {
  const { ingress, store, stored, decisions, logged } = await startIngress();
  const response = await ingress.handle(push(PUSH));
  expect([response.status, response.headers.get('content-type')]).toEqual([202, 'application/json']);
  const { receipt } = (await response.json()) as { receipt: string };
  const kept = await store.loadReceipt(receipt);
  expect(kept?.target).toBe('/in/acme/code/push?from=here');
  expect(Buffer.from(kept!.body).toString('utf8')).toBe(PUSH);
  expect((await ingress.handle(push(PUSH))).status).toBe(200);
  expect(await stored()).toEqual({ receipts: 1, events: 1 });
  expect(decisions).toEqual(['accepted', 'duplicate']);
  expect(logged()).toContain('"client":"in-process"');
});

test('refusals are the same: signature, encoding, size, route, method, draining', async () => {
  const { ingress, stored } = await startIngress();
  const refused = async (request: Request): Promise<unknown> => {
    const response = await ingress.handle(request);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    const { code } = (await response.json()) as { code: string };
    return [response.status, code];
  };
  const large = 'x'.repeat(BODY_LIMIT_BYTES + 1);
  expect(await refused(push(PUSH, 'none'))).toEqual([401, 'invalid_signature']);
  expect(await refused(push(PUSH, sign(PUSH), { 'content-encoding': 'br' }))).toEqual([
    415,
    'unsupported_encoding',
  ]);
  expect(await refused(push(large))).toEqual([413, 'payload_too_large']);
  expect(await refused(new Request(at('/nowhere')))).toEqual([404, 'unknown_route']);
  expect(await refused(new Request(at('/in/acme/code/push')))).toEqual([405, 'method_not_allowed']);
  ingress.beginDrain();
  expect(await refused(push(PUSH))).toEqual([503, 'draining']);
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
});

test('a body that breaks off is not stored', async () => {
  const { ingress, stored, decisions } = await startIngress();
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(PUSH.slice(0, 10)));
      controller.error(new Error('the sender is gone'));
    },
  });
  const response = await ingress.handle(push(broken));
  expect(response.type).toBe('error');
  expect(await stored()).toEqual({ receipts: 0, events: 0 });
  expect(decisions).toEqual(['truncated']);
});

test('a handshake and the probes work without a port, HEAD without a body', async () => {
  const { ingress } = await startIngress();
  const query = 'hub.mode=subscribe&hub.challenge=42&hub.verify_token=a%20token';
  expect(await (await ingress.handle(new Request(at(`/in/acme/code/meta?${query}`)))).text()).toBe('42');
  const head = await ingress.handle(new Request(at('/readyz'), { method: 'HEAD' }));
  expect([head.status, await head.text()]).toEqual([200, '']);
});
