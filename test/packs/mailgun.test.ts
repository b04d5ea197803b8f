import { describe, expect, test } from 'vitest';
import { draftReceipt } from '../../src/packs/draft-receipt.js';
import { mailgunToken, signatures } from '../../src/packs/signatures.js';
import type { Receipt } from '../../src/packs/types.js';
import { counting, routeWith } from './drafts.js';
import { NOW, NOW_SECONDS, type RequestInput } from './request-parts.js';
import { verdictOf, verified } from './requests.js';
import { mailgunSignature, NEW } from './signed-requests.js';

const mailgun = signatures.mailgun({ secret: NEW });
const TOKEN = 'a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0';
type Fields = Record<string, string>;
const fields = (timestamp = NOW_SECONDS): Fields => mailgunSignature(NEW, timestamp, TOKEN);

const form = (entries: Fields | [string, string][]): RequestInput => ({
  headers: { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' },
  body: new URLSearchParams(entries).toString(),
});

const json = (signature: unknown): RequestInput => ({
  headers: { 'Content-Type': 'application/json; charset=utf-8' },
  body: JSON.stringify({ signature, 'event-data': { event: 'opened' } }),
});

/** As Node's own encoder writes it, with a file that is not text. */
async function multipart(entries: readonly (readonly [string, string])[]): Promise<RequestInput> {
  const data = new FormData();
  data.append('attachment-1', new Blob([Buffer.from([0xff, 0x0d, 0x0a, 0x2d, 0x2d, 0x00])]), 'signature.bin');
  for (const [name, value] of entries) data.append(name, value);
  const encoded = new Response(data);
  const headers = { 'Content-Type': encoded.headers.get('content-type')! };
  return { headers, body: Buffer.from(await encoded.arrayBuffer()) };
}

describe('[signature] Mailgun', () => {
  test('the signature inside a form, a multipart body or JSON; the bytes stay', async () => {
    const inMultipart = await multipart([...Object.entries(fields()), ['subject', 'héllo\r\nworld']]);
    for (const input of [form(fields()), json(fields()), inMultipart]) {
      const receipt = verified(mailgun, input);
      expect(mailgunToken(receipt)).toBe(TOKEN);
      expect(Buffer.compare(receipt.body, Buffer.from(input.body as string))).toBe(0);
    }
    expect(verdictOf(mailgun, json({ ...fields(), timestamp: Number(NOW_SECONDS) }))).toBe('verified');
  });

  test('a changed part of the signature is refused in every form', async () => {
    const changes: Fields[] = [{ token: `${TOKEN}x` }, { signature: fields().signature!.replace(/^./, '0') }];
    for (const change of changes.map((one) => ({ ...fields(), ...one }))) {
      if (change.signature === fields().signature && change.token === TOKEN) change.token = 'other';
      for (const input of [form(change), json(change), await multipart(Object.entries(change))]) {
        expect(verdictOf(mailgun, input)).toBe('401 signature_mismatch');
      }
    }
    const moved = { ...fields(), timestamp: String(NOW / 1_000 - 1) };
    expect(verdictOf(mailgun, form(moved))).toBe('401 signature_mismatch');
  });

  test.each(['token', 'signature'])('a missing, empty or repeated %s is refused', async (name) => {
    const { [name]: value, ...others } = fields();
    const twice: [string, string][] = [...Object.entries(fields()), [name, value!]];
    for (const input of [
      form(others),
      json(others),
      form({ ...others, [name]: '' }),
      form(twice),
      await multipart(twice),
    ]) {
      expect(verdictOf(mailgun, input)).toBe('401 signature_missing');
    }
  });

  test('the timestamp never skips the check', () => {
    for (const junk of ['NaN', 'x', '1e9', '-5']) {
      expect(verdictOf(mailgun, form(fields(junk)))).toBe('401 timestamp_invalid');
    }
    const { timestamp: _, ...others } = fields();
    expect(verdictOf(mailgun, form(others))).toBe('401 timestamp_missing');
    expect(verdictOf(mailgun, form(fields(String(NOW / 1_000 + 301))))).toBe(
      '401 timestamp_outside_tolerance',
    );
    expect(verdictOf(mailgun, form(fields(String(NOW / 1_000 - 301))))).toBe(
      '401 timestamp_outside_tolerance',
    );
  });

  test.each([
    ['no type', {}],
    ['another type', { 'content-type': 'text/plain' }],
    ['multipart without boundary', { 'content-type': 'multipart/form-data' }],
  ])('a body with %s and no signature in it is refused', (_, headers) => {
    for (const body of ['', 'x', 'null', '[]', '{"signature":[]}', '{"signature":null}']) {
      expect(verdictOf(mailgun, { headers: headers as Fields, body })).toBe('401 signature_missing');
    }
  });

  test('a reused token is a duplicate with the same body, and a conflict with another', () => {
    const draftOf = (input: RequestInput) => {
      const materialize = (receipt: Receipt) => ({
        deliveries: [{ key: mailgunToken(receipt), events: [{ type: 'mail', sourceKey: 'inbox' }] }],
      });
      const receipt = verified(mailgun, input);
      return draftReceipt({ route: routeWith(materialize), receipt, newId: counting() }).events[0]!;
    };
    const first = draftOf(form({ ...fields(), subject: 'hello' }));
    const again = draftOf(form({ ...fields(), subject: 'hello' }));
    const forged = draftOf(form({ ...fields(), subject: 'pay me' }));
    expect(first.deliveryKey).toBe(TOKEN);
    expect([again.idempotencyKey, again.contentHash]).toEqual([first.idempotencyKey, first.contentHash]);
    expect(forged.idempotencyKey).toEqual(first.idempotencyKey);
    expect(forged.contentHash).not.toEqual(first.contentHash);
  });
});
