import type { SecretSource, SignatureScheme } from '../types.js';
import { hmac } from './hmac.js';

/**
 * GitHub (also Gitea's GitHub mode): `X-Hub-Signature-256`. A webhook of content type
 * `application/x-www-form-urlencoded` works too: the form is what was signed, and `receipt.json()` is its payload.
 */
export function github(options: { readonly secret: SecretSource }): SignatureScheme {
  return hmac({ name: 'github', secret: options.secret, header: 'x-hub-signature-256', prefix: 'sha256=' });
}
