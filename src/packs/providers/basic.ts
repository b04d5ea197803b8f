import { LaneheadError } from '../../core/errors.js';
import { sameSecret } from '../compare.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { refused, scheme, VERIFIED } from '../verdict.js';

/**
 * HTTP Basic (RFC 7617), for providers that sign nothing: it proves who sent the request, not that the body is
 * whole. The header is never stored.
 * @param options.username without `:`, which RFC 7617 gives to the password.
 * @throws LaneheadError `invalid_pack` when the username is empty or contains `:`.
 */
export function basic(options: {
  readonly username: string;
  readonly password: SecretSource;
}): SignatureScheme {
  if (!/^[^:]+$/.test(options.username)) {
    throw new LaneheadError('invalid_pack', 'signatures.basic: username: must not be empty or contain ":"');
  }

  function verify(request: UnverifiedRequest): Verification {
    const given = readCredentials(request.header('authorization') ?? '');
    if (given === null) return refused('signature_missing');
    const passwords = secretsOf(options.password, request);
    if (passwords.length === 0) return refused('secret_unavailable');
    const userMatches = sameSecret(options.username, given.username);
    const passwordMatches = passwords.filter((password) => sameSecret(password, given.password)).length > 0;
    return userMatches && passwordMatches ? VERIFIED : refused('signature_mismatch');
  }

  return scheme({
    name: 'basic',
    methods: ['POST'],
    prepare: (scope) => requireSecrets(options.password, scope, 'password'),
    verify,
  });
}

function readCredentials(header: string): { username: string; password: string } | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  return colon < 0 ? null : { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
