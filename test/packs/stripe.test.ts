import { expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { mac, NOW, NOW_SECONDS, partsOf } from './request-parts.js';
import { verdictOf } from './requests.js';
import { NEW, OLD, signStripe } from './signed-requests.js';

const body = '{"object":"event"}';
const stripe = signatures.stripe({ secret: NEW });
const headerOf = (secret: string, timestamp = NOW_SECONDS): string =>
  partsOf(signStripe(secret, timestamp, body)).headers.find(([name]) => name === 'Stripe-Signature')![1];
const v1Of = (secret: string): string => headerOf(secret).replace(/^t=\d+,/, '');
const verdict = (header: string) => verdictOf(stripe, { headers: { 'stripe-signature': header }, body });

test('[signature] Stripe: one valid v1 among several, in any place', () => {
  for (const list of [`${v1Of(OLD)},${v1Of(NEW)}`, `${v1Of(NEW)},${v1Of(OLD)}`, `v0=00,${v1Of(NEW)}`]) {
    expect(verdict(`t=${NOW_SECONDS},${list}`)).toBe('verified');
  }
  expect(verdict(`t=${NOW_SECONDS}, ${v1Of(NEW)}`)).toBe('verified');
});

test('[signature] Stripe: versions other than v1 do not count', () => {
  expect(verdict(`t=${NOW_SECONDS},${v1Of(NEW).replace('v1=', 'v0=')}`)).toBe('401 signature_missing');
  expect(verdict(`t=${NOW_SECONDS},${v1Of(NEW).replace('v1=', 'v11=')}`)).toBe('401 signature_missing');
});

test('[signature] Stripe: unknown parts of the header are passed over', () => {
  expect(verdict(`tag=1,v12=00,t=${NOW_SECONDS},${v1Of(NEW)},x`)).toBe('verified');
});

test.each([
  ['', '401 timestamp_missing'],
  ['NaN', '401 timestamp_invalid'],
  ['abc', '401 timestamp_invalid'],
  ['1e9', '401 timestamp_invalid'],
  ['-1', '401 timestamp_invalid'],
  ['Infinity', '401 timestamp_invalid'],
  ['9'.repeat(30), '401 timestamp_invalid'],
  [`${NOW_SECONDS}.0`, '401 timestamp_invalid'],
])('[signature] Stripe: timestamp %j never skips the check', (timestamp, expected) => {
  // Signed over exactly this timestamp, so that only the check of the time can refuse it.
  const signature = mac('sha256', NEW, 'hex', `${timestamp}.`, body);
  expect(verdict(`t=${timestamp},v1=${signature}`)).toBe(expected);
  expect(verdict(`v1=${mac('sha256', NEW, 'hex', 'undefined.', body)}`)).toBe('401 timestamp_missing');
});

test('[signature] Stripe: a timestamp that was not signed does not help', () => {
  const old = headerOf(NEW, String(NOW / 1_000 - 3_600));
  expect(verdict(old.replace(/^t=\d+/, `t=${NOW_SECONDS}`))).toBe('401 signature_mismatch');
  expect(verdict(`t=${NOW_SECONDS},${old}`)).toBe('401 signature_mismatch');
});

test('[signature] Stripe: the tolerance can be set', () => {
  const patient = signatures.stripe({ secret: NEW, toleranceMs: 3_600_000 });
  expect(verdictOf(patient, signStripe(NEW, String(NOW / 1_000 - 3_600), body))).toBe('verified');
  expect(verdictOf(patient, signStripe(NEW, String(NOW / 1_000 - 3_601), body))).toMatch(/tolerance$/);
});
