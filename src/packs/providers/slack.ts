import { jsonObject, jsonText, tryParseJson } from '../safe-json.js';
import type { HandshakeAnswer, SecretSource, SignatureScheme, UnverifiedRequest } from '../types.js';
import { textAnswer } from '../verdict.js';
import { hmac } from './hmac.js';

/** Slack: `v0` signatures with a timestamp, for events, commands and interactions; answers `url_verification`. */
export function slack(options: { readonly secret: SecretSource }): SignatureScheme {
  const signed = {
    name: 'slack',
    secret: options.secret,
    header: 'x-slack-signature',
    prefix: 'v0=',
    timestamp: { header: 'x-slack-request-timestamp' },
    signed: 'v0:{timestamp}:{body}',
  };
  return hmac(signed, { signed: answerChallenge, bodyBytes: 512 });
}

function answerChallenge({ body }: UnverifiedRequest): HandshakeAnswer | null {
  // Most requests are spared a second parse.
  if (!Buffer.from(body.buffer, body.byteOffset, body.length).includes('url_verification')) return null;
  const message = jsonObject(tryParseJson(body));
  return message?.type === 'url_verification' ? textAnswer(jsonText(message.challenge)) : null;
}
