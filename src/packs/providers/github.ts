import type { SecretSource, SignatureScheme } from '../types.js';
import { scheme } from '../verdict.js';
import { hmac } from './hmac.js';

/**
 * GitHub (also Gitea's GitHub mode): `X-Hub-Signature-256`. A webhook of content type
 * `application/x-www-form-urlencoded` works too: the form is what was signed, and `receipt.json()` is its payload.
 * A delivery that fails is not sent again by itself (docs.github.com, "Handling failed webhook deliveries").
 */
export function github(options: { readonly secret: SecretSource }): SignatureScheme {
  const { secret } = options;
  const signed = hmac({ name: 'github', secret, header: 'x-hub-signature-256', prefix: 'sha256=' });
  return scheme({ ...signed, redelivers: false });
}
