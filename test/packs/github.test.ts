import { createHmac } from 'node:crypto';
import { sign } from '@octokit/webhooks-methods';
import { expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { verdictOf, verified } from './requests.js';

const secret = "It's a Secret to Everybody";
const github = signatures.github({ secret });
const signed = async (body: string, contentType = 'application/json') => ({
  headers: { 'x-hub-signature-256': await sign(secret, body), 'content-type': contentType },
  body,
});

test('[signature] GitHub: the published example', () => {
  const signature = '757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17';
  const headers = { 'X-Hub-Signature-256': `sha256=${signature}` };
  expect(verdictOf(github, { headers, body: 'Hello, World!' })).toBe('verified');
  const upper = { 'X-Hub-Signature-256': `sha256=${signature.toUpperCase()}` };
  expect(verdictOf(github, { headers: upper, body: 'Hello, World!' })).toBe('verified');
});

test('[signature] GitHub: emoji, \\u escapes and 1.0 are hashed as received, not as parsed', async () => {
  const body = '{"text":"😀 \\u00e9 \\ud83d\\ude00","amount":1.0,"b": 2}';
  const receipt = verified(github, await signed(body));
  expect(receipt.text()).toBe(body);
  const parsed = JSON.stringify(JSON.parse(body));
  expect(verdictOf(github, { ...(await signed(body)), body: parsed })).toBe('401 signature_mismatch');
});

test('[signature] GitHub: a payload= form is verified raw and then parsed', async () => {
  const payload = { action: 'opened', text: 'a+b & c=d 😀' };
  const form = `payload=${encodeURIComponent(JSON.stringify(payload))}`;
  const receipt = verified(github, await signed(form, 'application/x-www-form-urlencoded; charset=utf-8'));
  expect(receipt.json()).toEqual(payload);
  expect(receipt.text()).toBe(form);
  const otherEscapes = { ...(await signed(form)), body: form.replaceAll('%20', '+') };
  expect(verdictOf(github, otherEscapes)).toBe('401 signature_mismatch');
});

test('[signature] GitHub: signed bytes that are not UTF-8 pass untouched', () => {
  const body = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0x7d]);
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
  const receipt = verified(github, { headers: { 'x-hub-signature-256': signature }, body });
  expect(Buffer.compare(receipt.body, body)).toBe(0);
});

test.each([
  ['without its prefix', (signature: string) => signature.slice('sha256='.length), '401 signature_missing'],
  ['cut short', (signature: string) => signature.slice(0, -2), '401 signature_mismatch'],
  ['with an odd digit', (signature: string) => signature.slice(0, -1), '401 signature_missing'],
  ['with a tail', (signature: string) => `${signature}zz`, '401 signature_missing'],
  ['sent twice', (signature: string) => `${signature}, ${signature}`, '401 signature_missing'],
  ['of no digits', () => 'sha256=', '401 signature_missing'],
])('[signature] GitHub: a signature %s is refused', async (_, change, verdict) => {
  const { body, headers } = await signed('{}');
  const changed = { 'x-hub-signature-256': change(headers['x-hub-signature-256']) };
  expect(verdictOf(github, { body, headers: changed })).toBe(verdict);
});
