import { createHmac } from 'node:crypto';
import { sameSignature } from '../compare.js';
import { DEFAULT_TOLERANCE_MS, staleness } from '../freshness.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { refused, scheme, VERIFIED } from '../verdict.js';
import { decodeSignature } from './hmac.js';

/**
 * The Standard Webhooks specification: `webhook-id`, `webhook-timestamp` and a list of `webhook-signature`s, of which
 * one valid `v1` in any place is enough. `whsec_…` and the bare base64 are the same secret.
 * @param options.headerPrefix `svix` for providers that send Svix's own header names.
 * @param options.toleranceMs how far the timestamp may be from now on either side; default 300,000 (5 minutes).
 */
export function standardWebhooks(options: {
  readonly secret: SecretSource;
  readonly headerPrefix?: 'webhook' | 'svix';
  readonly toleranceMs?: number;
}): SignatureScheme {
  const prefix = options.headerPrefix ?? 'webhook';
  const freshness = { unit: 'seconds', toleranceMs: options.toleranceMs ?? DEFAULT_TOLERANCE_MS } as const;

  function verify(request: UnverifiedRequest): Verification {
    const id = request.header(`${prefix}-id`);
    const signatures = readSignatures(request.header(`${prefix}-signature`) ?? '');
    if (!id || signatures.length === 0) return refused('signature_missing');
    const timestamp = request.header(`${prefix}-timestamp`);
    const stale = staleness(timestamp, freshness, request.receivedAt);
    if (stale !== null) return refused(stale);
    const keys = secretsOf(options.secret, request).flatMap((secret) => keyOf(secret) ?? []);
    if (keys.length === 0) return refused('secret_unavailable');
    const genuine = keys.some((key) => {
      const digest = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(request.body).digest();
      return signatures.some((signature) => sameSignature(digest, signature));
    });
    return genuine ? VERIFIED : refused('signature_mismatch');
  }

  return scheme({
    name: 'standard_webhooks',
    methods: ['POST'],
    prepare: (scope) => requireSecrets(options.secret, scope, 'secret', (secret) => keyOf(secret) !== null),
    verify,
  });
}

/** The `v1` signatures of a space-separated list of `version,base64`; other versions are left out. */
function readSignatures(header: string): Uint8Array[] {
  return header
    .split(' ')
    .filter((entry) => entry.startsWith('v1,'))
    .flatMap((entry) => decodeSignature(entry.slice('v1,'.length), 'base64') ?? []);
}

function keyOf(secret: string): Uint8Array | null {
  const key = decodeSignature(secret.replace(/^whsec_/, ''), 'base64');
  return key !== null && key.length > 0 ? key : null;
}
