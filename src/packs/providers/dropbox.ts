import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { handshake, refused, textAnswer } from '../verdict.js';
import { hmac } from './hmac.js';

/** Dropbox: `X-Dropbox-Signature` with the app secret; a GET is answered with its challenge. */
export function dropbox(options: { readonly secret: SecretSource }): SignatureScheme {
  const signed = { name: 'dropbox', secret: options.secret, header: 'x-dropbox-signature' };
  return hmac(signed, {
    methods: ['GET'],
    unsigned: (request) => (request.method === 'GET' ? answerChallenge(request) : null),
  });
}

function answerChallenge(request: UnverifiedRequest): Verification {
  const challenge = request.query.get('challenge');
  return challenge === null ? refused('challenge_missing', 403) : handshake(textAnswer(challenge));
}
