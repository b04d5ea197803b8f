import { createHmac } from 'node:crypto';
import { jsonObject, jsonText, tryParseJson } from '../safe-json.js';
import type { HandshakeAnswer, SecretSource, SignatureScheme, UnverifiedRequest } from '../types.js';
import { hmac } from './hmac.js';

/** Zoom: `v0` signatures with a timestamp, with the app's secret token; answers `endpoint.url_validation`. */
export function zoom(options: { readonly secret: SecretSource }): SignatureScheme {
  const signed = {
    name: 'zoom',
    secret: options.secret,
    header: 'x-zm-signature',
    prefix: 'v0=',
    timestamp: { header: 'x-zm-request-timestamp' },
    signed: 'v0:{timestamp}:{body}',
  };
  return hmac(signed, { signed: answerValidation, bodyBytes: 512 });
}

function answerValidation({ body }: UnverifiedRequest, secret: string): HandshakeAnswer | null {
  if (!Buffer.from(body.buffer, body.byteOffset, body.length).includes('endpoint.url_validation'))
    return null;
  const message = jsonObject(tryParseJson(body));
  if (message?.event !== 'endpoint.url_validation') return null;
  const plainToken = jsonText(jsonObject(message.payload)?.plainToken);
  const encryptedToken = createHmac('sha256', secret).update(plainToken).digest('hex');
  return {
    status: 200,
    body: JSON.stringify({ plainToken, encryptedToken }),
    contentType: 'application/json',
  };
}
