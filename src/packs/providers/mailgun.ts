import { createHmac } from 'node:crypto';
import { sameSignature } from '../compare.js';
import { DEFAULT_TOLERANCE_MS, staleness } from '../freshness.js';
import { multipartFields } from '../multipart.js';
import { jsonObject, mediaType, tryParseJson, utf8 } from '../safe-json.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { refused, scheme, VERIFIED } from '../verdict.js';
import { decodeSignature } from './hmac.js';

/**
 * Mailgun: timestamp, token and their HMAC stand inside the body: JSON (`signature`), a form, or multipart.
 *
 * Mailgun does not sign the rest of the body, so a seen token must not count twice. Give `mailgunToken(receipt)` as
 * the delivery key: a reused token with the same body is then a duplicate, and one with another body a conflict,
 * which is stored but not run.
 * @param options.secret the webhook signing key.
 * @param options.toleranceMs how far the timestamp may be from now on either side; default 300,000 (5 minutes).
 */
export function mailgun(options: {
  readonly secret: SecretSource;
  readonly toleranceMs?: number;
}): SignatureScheme {
  const freshness = { unit: 'seconds', toleranceMs: options.toleranceMs ?? DEFAULT_TOLERANCE_MS } as const;

  function verify(request: UnverifiedRequest): Verification {
    const { timestamp, token, signature } = signatureFields(request);
    const received = decodeSignature(signature ?? '', 'hex');
    if (received === null || !token) return refused('signature_missing');
    const stale = staleness(timestamp, freshness, request.receivedAt);
    if (stale !== null) return refused(stale);
    const secrets = secretsOf(options.secret, request);
    if (secrets.length === 0) return refused('secret_unavailable');
    const genuine = secrets.some((secret) =>
      sameSignature(createHmac('sha256', secret).update(`${timestamp}${token}`).digest(), received),
    );
    return genuine ? VERIFIED : refused('signature_mismatch');
  }

  return scheme({
    name: 'mailgun',
    methods: ['POST'],
    prepare: (scope) => requireSecrets(options.secret, scope),
    verify,
  });
}

/** The one-time token of a Mailgun request, in whatever form it came. */
export function mailgunToken(request: UnverifiedRequest): string | undefined {
  return signatureFields(request).token;
}

type SignatureFields = { readonly [name in 'timestamp' | 'token' | 'signature']: string | undefined };

function signatureFields(request: UnverifiedRequest): SignatureFields {
  const read = fieldReader(request);
  return { timestamp: read('timestamp'), token: read('token'), signature: read('signature') };
}

function fieldReader(request: UnverifiedRequest): (name: string) => string | undefined {
  const contentType = request.header('content-type');
  switch (mediaType(contentType)) {
    case 'multipart/form-data': {
      const fields = multipartFields(request.body, contentType!);
      return (name) => single(fields.filter(([field]) => field === name).map(([, value]) => value));
    }
    case 'application/x-www-form-urlencoded': {
      const form = new URLSearchParams(utf8(request.body));
      return (name) => single(form.getAll(name));
    }
    default: {
      const fields = jsonObject(jsonObject(tryParseJson(request.body))?.signature);
      return (name) => textOf(fields?.[name]);
    }
  }
}

/** A field given twice could be read one way here and another way later; it counts as absent. */
const single = (values: readonly string[]): string | undefined =>
  values.length === 1 ? values[0] : undefined;

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}
