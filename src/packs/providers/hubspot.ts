import type { SecretSource, SignatureScheme } from '../types.js';
import { hmac } from './hmac.js';
import type { HmacUrl } from './hmac-options.js';

/**
 * HubSpot signature v3: base64 over method, URL, body and a timestamp in milliseconds that may be 5 minutes off.
 * @param options.url exactly as entered at HubSpot, with its query.
 */
export function hubspot(options: { readonly secret: SecretSource; readonly url: HmacUrl }): SignatureScheme {
  const { secret, url } = options;
  return hmac({
    name: 'hubspot',
    secret,
    url: typeof url === 'function' ? (scope) => decodeReserved(url(scope)) : decodeReserved(url),
    header: 'x-hubspot-signature-v3',
    encoding: 'base64',
    timestamp: { header: 'x-hubspot-request-timestamp', unit: 'milliseconds' },
    signed: '{method}{url}{body}{timestamp}',
  });
}

/** HubSpot signs the URL with these escapes decoded, and with all others left as they are. */
const DECODED = /%(?:3A|2F|3F|40|21|24|27|28|29|2A|2C|3B)/gi;

/** `undefined` (a namespace without URL) stays for `prepare` to name. */
const decodeReserved = <Url extends string | undefined>(url: Url): Url =>
  url?.replace(DECODED, decodeURIComponent) as Url;
