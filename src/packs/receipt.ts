import { parseJsonBody, utf8 } from './safe-json.js';
import { isStrayPromise } from './thenable.js';
import type { Receipt, SignatureScheme, UnverifiedRequest, Verification } from './types.js';

/** A request as it came from the wire. */
export interface RequestParts {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly method: string;
  /** Path and query exactly as received. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  /** Epoch ms. */
  readonly receivedAt: number;
}

class RawRequest implements UnverifiedRequest {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Uint8Array;
  readonly receivedAt: number;
  #query: URLSearchParams | undefined;

  constructor(parts: RequestParts) {
    this.namespace = parts.namespace;
    this.pack = parts.pack;
    this.route = parts.route;
    this.method = parts.method;
    this.target = parts.target;
    this.headers = parts.headers;
    this.body = parts.body;
    this.receivedAt = parts.receivedAt;
  }

  get query(): URLSearchParams {
    const mark = this.target.indexOf('?');
    this.#query ??= new URLSearchParams(mark < 0 ? '' : this.target.slice(mark + 1));
    return this.#query;
  }

  header(name: string): string | undefined {
    const wanted = name.toLowerCase();
    let found: string | undefined;
    for (const [key, value] of this.headers) {
      if (key.length !== wanted.length || key.toLowerCase() !== wanted) continue;
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }
}

class VerifiedRequest extends RawRequest {
  readonly verification: string;
  #json: { readonly value: unknown } | undefined;

  constructor(parts: RequestParts, verification: string) {
    super(parts);
    this.verification = verification;
  }

  text(): string {
    return utf8(this.body);
  }

  json(): unknown {
    this.#json ??= { value: parseJsonBody(this.body, this.header('content-type')) };
    return this.#json.value;
  }

  form(): URLSearchParams {
    return new URLSearchParams(this.text());
  }
}

export function unverifiedRequest(parts: RequestParts): UnverifiedRequest {
  return new RawRequest(parts);
}

export type VerifyResult =
  | { readonly kind: 'verified'; readonly receipt: Receipt }
  | Exclude<Verification, { readonly kind: 'verified' }>;

/**
 * The only way from an unverified request to a `Receipt`. Fails closed: a scheme that throws, or answers anything
 * but the three kinds (a promise, say), has refused.
 */
export function verifyRequest(scheme: SignatureScheme, request: UnverifiedRequest): VerifyResult {
  const verification = attempt(scheme, request);
  switch (verification?.kind) {
    case 'verified':
      return { kind: 'verified', receipt: brand(new VerifiedRequest(request, scheme.name)) };
    case 'handshake':
    case 'refused':
      return verification;
    default:
      return { kind: 'refused', status: 401, reason: 'scheme_failed' };
  }
}

/**
 * A stored receipt, to be materialized again after a fix. It was verified when it arrived; its signature could not be
 * checked now, since its timestamp is old and its credentials were not stored.
 */
export function restoreReceipt(stored: RequestParts & { readonly verification: string }): Receipt {
  return brand(new VerifiedRequest(stored, stored.verification));
}

function attempt(scheme: SignatureScheme, request: UnverifiedRequest): Verification | null {
  try {
    const verification = scheme.verify(request);
    return isStrayPromise(verification) ? null : verification;
  } catch {
    return null;
  }
}

const brand = (request: VerifiedRequest): Receipt => request as unknown as Receipt;
