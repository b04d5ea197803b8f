import { expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { thrownBy, verdictOf } from './requests.js';

const encode = (text: string) => Buffer.from(text).toString('base64');
const verdict = (password: string, authorization: string) =>
  verdictOf(signatures.basic({ username: 'crm', password }), { headers: { authorization } });

test.each(['pass', 'pa:ss', ':', 'pässwörd', 'a b', ':lead'])(
  '[signature] Basic: password %j is accepted',
  (password) => {
    expect(verdict(password, `Basic ${encode(`crm:${password}`)}`)).toBe('verified');
    expect(verdict(password, `basic ${encode(`crm:${password}`)}`)).toBe('verified');
    expect(verdict(password, `Basic ${encode(`crm:${password}x`)}`)).toBe('401 signature_mismatch');
  },
);

test('[signature] Basic: user and password must both be right', () => {
  expect(verdict('pa:ss', `Basic ${encode('crm:pa')}`)).toBe('401 signature_mismatch');
  expect(verdict('ss', `Basic ${encode('crm:pa:ss')}`)).toBe('401 signature_mismatch');
  expect(verdict('pass', `Basic ${encode('crn:pass')}`)).toBe('401 signature_mismatch');
  expect(verdict('pass', `Basic ${encode('crm:')}`)).toBe('401 signature_mismatch');
});

test.each(['', 'Basic', 'Basic ', 'Bearer abc', `Basic ${encode('crm')}`, 'Basic !!!', encode('crm:pass')])(
  '[signature] Basic: %j is no credential',
  (authorization) => {
    expect(verdict('pass', authorization)).toBe('401 signature_missing');
  },
);

test('[signature] Basic: a username with a colon cannot work', () => {
  for (const username of ['a:b', '']) {
    const { code, message } = thrownBy(() => signatures.basic({ username, password: 'x' }));
    expect(code).toBe('invalid_pack');
    expect(message).toContain('signatures.basic: username');
  }
});
