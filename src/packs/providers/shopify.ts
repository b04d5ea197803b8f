import type { SecretSource, SignatureScheme } from '../types.js';
import { hmac } from './hmac.js';

/** Shopify: `X-Shopify-Hmac-Sha256`, base64. */
export function shopify(options: { readonly secret: SecretSource }): SignatureScheme {
  return hmac({
    name: 'shopify',
    secret: options.secret,
    header: 'x-shopify-hmac-sha256',
    encoding: 'base64',
  });
}
