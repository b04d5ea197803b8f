import type { SecretSource, SignatureScheme } from '../types.js';
import { hmac } from './hmac.js';

/** Intercom: `X-Hub-Signature`, SHA-1, with the app's client secret. Intercom offers nothing stronger. */
export function intercom(options: { readonly secret: SecretSource }): SignatureScheme {
  return hmac({
    name: 'intercom',
    secret: options.secret,
    header: 'x-hub-signature',
    algorithm: 'sha1',
    prefix: 'sha1=',
  });
}
