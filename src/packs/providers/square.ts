import type { SecretSource, SignatureScheme } from '../types.js';
import { hmac } from './hmac.js';
import type { HmacUrl } from './hmac-options.js';

/**
 * Square: `X-Square-HmacSha256-Signature`, base64, over the notification URL and the body.
 * @param options.url exactly as entered at Square; what a proxy made of the request's own URL plays no part.
 */
export function square(options: { readonly secret: SecretSource; readonly url: HmacUrl }): SignatureScheme {
  return hmac({
    name: 'square',
    secret: options.secret,
    url: options.url,
    header: 'x-square-hmacsha256-signature',
    encoding: 'base64',
    signed: '{url}{body}',
  });
}
