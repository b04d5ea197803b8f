import { sameSecret } from '../compare.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { handshake, refused, textAnswer } from '../verdict.js';
import { hmac } from './hmac.js';

/**
 * Meta (Facebook, Instagram, WhatsApp, Messenger): `X-Hub-Signature-256` with the app secret; a GET with the verify
 * token is answered with the bare challenge, and any other GET with 403.
 * @param options.verifyToken what was entered as "Verify token" at Meta.
 */
export function meta(options: {
  readonly secret: SecretSource;
  readonly verifyToken: SecretSource;
}): SignatureScheme {
  const signed = { name: 'meta', secret: options.secret, header: 'x-hub-signature-256', prefix: 'sha256=' };
  return hmac(signed, {
    methods: ['GET'],
    prepare: (scope) => requireSecrets(options.verifyToken, scope, 'verifyToken'),
    unsigned: (request) => (request.method === 'GET' ? subscribe(request, options.verifyToken) : null),
  });
}

function subscribe(request: UnverifiedRequest, verifyToken: SecretSource): Verification {
  const token = request.query.get('hub.verify_token') ?? '';
  const challenge = request.query.get('hub.challenge');
  const known = secretsOf(verifyToken, request).some((expected) => sameSecret(expected, token));
  if (!known || challenge === null || request.query.get('hub.mode') !== 'subscribe') {
    return refused('wrong_token', 403);
  }
  return handshake(textAnswer(challenge));
}
