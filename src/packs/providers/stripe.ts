import { createHmac } from 'node:crypto';
import { sameSignature } from '../compare.js';
import { DEFAULT_TOLERANCE_MS, staleness } from '../freshness.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { refused, scheme, VERIFIED } from '../verdict.js';
import { decodeSignature } from './hmac.js';

/**
 * Stripe: `Stripe-Signature: t=…,v1=…,v1=…`, over `t`, a dot and the body, with the endpoint's `whsec_…` as it is.
 * Several `v1` appear while Stripe rolls a secret; other versions do not count.
 * @param options.toleranceMs how far `t` may be from now on either side; default 300,000 (5 minutes).
 */
export function stripe(options: {
  readonly secret: SecretSource;
  readonly toleranceMs?: number;
}): SignatureScheme {
  const freshness = { unit: 'seconds', toleranceMs: options.toleranceMs ?? DEFAULT_TOLERANCE_MS } as const;

  function verify(request: UnverifiedRequest): Verification {
    const { timestamp, signatures } = readHeader(request.header('stripe-signature') ?? '');
    if (signatures.length === 0) return refused('signature_missing');
    const stale = staleness(timestamp, freshness, request.receivedAt);
    if (stale !== null) return refused(stale);
    const secrets = secretsOf(options.secret, request);
    if (secrets.length === 0) return refused('secret_unavailable');
    const genuine = secrets.some((secret) => {
      const digest = createHmac('sha256', secret).update(`${timestamp}.`).update(request.body).digest();
      return signatures.some((signature) => sameSignature(digest, signature));
    });
    return genuine ? VERIFIED : refused('signature_mismatch');
  }

  return scheme({
    name: 'stripe',
    methods: ['POST'],
    prepare: (scope) => requireSecrets(options.secret, scope),
    verify,
  });
}

function readHeader(header: string): { timestamp: string | undefined; signatures: Uint8Array[] } {
  const pairs = header.split(',').map((pair) => pair.trim());
  const valuesOf = (key: string) =>
    pairs.filter((pair) => pair.startsWith(`${key}=`)).map((pair) => pair.slice(key.length + 1));
  const signatures = valuesOf('v1').flatMap((text) => decodeSignature(text, 'hex') ?? []);
  return { timestamp: valuesOf('t')[0], signatures };
}
