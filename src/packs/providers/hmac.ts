import { createHmac } from 'node:crypto';
import { sameSignature } from '../compare.js';
import { DEFAULT_FRESHNESS, staleness } from '../freshness.js';
import { requireSecrets, secretsOf, unusable } from '../secrets.js';
import { compileSignedContent } from '../signed-content.js';
import type {
  HandshakeAnswer,
  SecretScope,
  SignatureScheme,
  UnverifiedRequest,
  Verification,
} from '../types.js';
import { handshake, refused, scheme, VERIFIED } from '../verdict.js';
import { checkHmacOptions, type HmacOptions } from './hmac-options.js';

/** For providers whose endpoint check shares the route with their events. */
export interface HmacHandshake {
  /** Methods besides `POST`. */
  readonly methods?: readonly string[];
  /** Secrets and settings of its own; throws as `SignatureScheme.prepare` does. */
  readonly prepare?: (scope: SecretScope) => void;
  /** The largest body of a POST that may be one. Default 1,024 with `signed`; without it no POST is expected. */
  readonly bodyBytes?: number;
  /** Before any signature is looked at; `null`: this is not a handshake. */
  readonly unsigned?: (request: UnverifiedRequest) => Verification | null;
  /** After the signature was found to be made with `secret`; `null`: this is not a handshake. */
  readonly signed?: (request: UnverifiedRequest, secret: string) => HandshakeAnswer | null;
}

const SIGNED_HANDSHAKE_BYTES = 1_024;

/**
 * HMAC over the raw bytes of the request, the scheme most providers are a configuration of.
 * @throws LaneheadError `invalid_pack` naming every wrong option.
 */
export function hmac(options: HmacOptions, endpointCheck: HmacHandshake = {}): SignatureScheme {
  checkHmacOptions(options);
  const content = compileSignedContent(options.signed ?? '{body}');
  const freshness = { ...DEFAULT_FRESHNESS, ...options.timestamp };
  const algorithm = options.algorithm ?? 'sha256';

  function timestampFault(request: UnverifiedRequest, timestamp: string | undefined): string | null {
    return options.timestamp ? staleness(timestamp, freshness, request.receivedAt) : null;
  }

  function verifySignature(request: UnverifiedRequest): Verification {
    const received = receivedSignature(options, request.header(options.header));
    if (received === null) return refused('signature_missing');
    const timestamp = options.timestamp && request.header(options.timestamp.header);
    const stale = timestampFault(request, timestamp);
    if (stale !== null) return refused(stale);
    const url = urlOf(options, request);
    if (url === undefined) return refused('url_unavailable');
    const secrets = secretsOf(options.secret, request);
    if (secrets.length === 0) return refused('secret_unavailable');

    const { method, target, body } = request;
    const pieces = content({ method, target, body, url, timestamp: timestamp ?? '' });
    const signer = secrets.find((secret) => {
      const digest = createHmac(algorithm, secret);
      for (const piece of pieces) digest.update(piece);
      return sameSignature(digest.digest(), received);
    });
    if (signer === undefined) return refused('signature_mismatch');
    const answer = endpointCheck.signed?.(request, signer) ?? null;
    return answer === null ? VERIFIED : handshake(answer);
  }

  const handshakeBytes = endpointCheck.bodyBytes ?? (endpointCheck.signed && SIGNED_HANDSHAKE_BYTES);
  return scheme({
    name: options.name ?? 'hmac',
    methods: ['POST', ...(endpointCheck.methods ?? [])],
    ...(handshakeBytes === undefined ? {} : { handshakeBytes }),
    prepare(scope) {
      requireSecrets(options.secret, scope);
      if (urlOf(options, scope) === undefined) throw unusable(scope, 'url', 'is not an absolute URL');
      endpointCheck.prepare?.(scope);
    },
    verify: (request) => endpointCheck.unsigned?.(request) ?? verifySignature(request),
  });
}

/** The bytes the header stands for, or `null` when it is absent or not in the configured form. */
function receivedSignature(options: HmacOptions, header: string | undefined): Uint8Array | null {
  const prefix = options.prefix ?? '';
  if (!header?.startsWith(prefix)) return null;
  const text = header.slice(prefix.length).trim();
  return decodeSignature(text, options.encoding ?? 'hex');
}

const SHAPES = {
  hex: /^(?:[0-9a-f]{2})+$/i,
  base64: /^[A-Za-z0-9+/]+={0,2}$/,
  base64url: /^[A-Za-z0-9_-]+={0,2}$/,
} as const;

/** Node's decoders skip what they do not know, so the form is checked first. */
export function decodeSignature(text: string, encoding: keyof typeof SHAPES): Uint8Array | null {
  return SHAPES[encoding].test(text) ? Buffer.from(text, encoding) : null;
}

/** `''`: none is configured. `undefined`: one is, and is missing for this scope. */
function urlOf({ url }: HmacOptions, scope: SecretScope): string | undefined {
  if (url === undefined) return '';
  const absolute = typeof url === 'function' ? askFor(url, scope) : url;
  return absolute !== undefined && URL.canParse(absolute) ? absolute : undefined;
}

function askFor(url: (scope: SecretScope) => string | undefined, scope: SecretScope): string | undefined {
  const { namespace, pack, route } = scope;
  try {
    return url({ namespace, pack, route });
  } catch {
    return undefined;
  }
}
