import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { isLaneheadError } from '../../../src/core/errors.js';
import { parseMysqlUrl } from '../../../src/store/dialects/mysql/url.js';

const plain = {
  host: 'db.example',
  port: 3306,
  socketPath: null,
  user: 'lane',
  password: '',
  database: 'head',
  tls: 'off',
  authorities: null,
};

function refusal(url: string): string {
  try {
    parseMysqlUrl(url);
  } catch (error) {
    if (isLaneheadError(error, 'invalid_configuration')) return error.message;
    throw error;
  }
  throw new Error('it was accepted');
}

test.each([
  ['mysql://lane@db.example/head', {}],
  ['mysql://lane@db.example:3307/head', { port: 3307 }],
  ['mysql://lane:p%40ss%2Fw%3Ard@db.example/head', { password: 'p@ss/w:rd' }],
  ['mysql://la%20ne:%F0%9F%94%91@db.example/he%2Dad', { user: 'la ne', password: '🔑', database: 'he-ad' }],
  ['mysql://lane@[::1]:3306/head', { host: '::1' }],
  ['mysql://lane@db.example/head?ssl=false', { tls: 'off' }],
  ['mysql://lane@db.example/head?ssl=true', { tls: 'verify-full' }],
  ['mysql://lane@db.example/head?ssl=verify-full', { tls: 'verify-full' }],
  ['mysql://lane@db.example/head?ssl=verify-ca', { tls: 'verify-ca' }],
  ['mysql://lane@db.example/head?ssl=require', { tls: 'unverified' }],
  ['mysql://lane@db.example/head?socketPath=/run/db.sock', { socketPath: '/run/db.sock' }],
])('%s', (url, expected) => {
  expect(parseMysqlUrl(url)).toEqual({ ...plain, ...expected });
});

test.each([
  ['postgres://lane@db.example/head', ['must start with mysql://']],
  ['mysql://lane:a/b@db.example/head', ['percent-encode']],
  ['mysql://lane@db.example:99999/head', ['percent-encode']],
  ['mysql://db.example/head', ['user is missing']],
  ['mysql://lane@db.example', ['database is missing']],
  ['mysql://lane@db.example/', ['database is missing']],
  ['mysql://lane@db.example/head/more', ['must be one name']],
  ['mysql://lane@db.example/head%2', ['the database has a broken percent-encoding']],
  ['mysql:///head', ['host is missing', 'user is missing']],
  [
    'mysql://lane@db.example/head?ssl=yes',
    ['ssl must be one of false, true, require, verify-ca, verify-full'],
  ],
  ['mysql://lane@db.example/head?ssl=toString', ['ssl must be one of']],
  ['mysql://lane@db.example/head?ssl=true&ssl=false', ['ssl is given twice']],
  ['mysql://lane@10.0.0.5/head?ssl=true', ['ssl=true needs a host name, not an address']],
  ['mysql://lane@[::1]/head?ssl=verify-full', ['ssl=verify-full needs a host name, not an address']],
  ['mysql://lane@db.example/head?charset=latin1', ['unknown parameter charset']],
  ['mysql://lane@db.example/head?socketPath=', ['socketPath is empty']],
  ['mysql://lane@db.example/head?sslCa=/no/such/file&ssl=true', ['sslCa cannot be read (ENOENT)']],
  [
    'mysql://db.example/?ssl=yes&charset=x',
    ['user is missing', 'database is missing', 'ssl must', 'unknown'],
  ],
])('%s is refused, and every problem is named', (url, parts) => {
  for (const part of parts) expect(refusal(url)).toContain(part);
});

test('a refusal never shows the password', () => {
  expect(refusal('mysql://lane:hunter2@db.example/?ssl=nope')).not.toContain('hunter2');
  expect(refusal('mysql://lane:hunter2%2@db.example/head')).not.toContain('hunter2');
  expect(refusal('mysql://lane:1?hunter2@db.example/head')).toContain('percent-encode');
  expect(refusal('mysql://lane:1#hunter2@db.example/head')).toContain('percent-encode');
  expect(refusal('mysql://lane:hunter2/x@db.example/head')).not.toContain('hunter2');
});

test('sslCa is read at once, and only together with a verification that uses it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'lanehead-url-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'ca.pem');
  writeFileSync(file, 'the authority');
  expect(parseMysqlUrl(`mysql://lane@db.example/head?ssl=true&sslCa=${file}`).authorities).toBe(
    'the authority',
  );
  expect(refusal(`mysql://lane@db.example/head?ssl=require&sslCa=${file}`)).toContain('sslCa needs');
});
