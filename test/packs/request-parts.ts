import { createHmac } from 'node:crypto';
import { type RequestParts, unverifiedRequest } from '../../src/packs/receipt.js';
import type { SecretScope, SignatureScheme } from '../../src/packs/types.js';

/** 2026-01-02T03:04:05Z */
export const NOW = 1_767_323_045_000;
export const NOW_SECONDS = String(NOW / 1_000);
export const SCOPE: SecretScope = { namespace: 'acme', pack: 'connector', route: 'events' };

export interface RequestInput extends Partial<Omit<RequestParts, 'headers' | 'body'>> {
  readonly headers?: Readonly<Record<string, string>> | readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
}

export function partsOf({ headers = {}, body = '', ...rest }: RequestInput = {}): RequestParts {
  return {
    ...SCOPE,
    method: 'POST',
    target: '/in/acme/connector/events',
    receivedAt: NOW,
    ...rest,
    headers: Array.isArray(headers) ? headers : Object.entries(headers),
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

export const request = (input: RequestInput = {}) => unverifiedRequest(partsOf(input));

/** A scheme that takes everything, for tests of what comes after it. */
export const trusting: SignatureScheme = {
  name: 'trusting',
  methods: ['POST'],
  prepare() {},
  verify: () => ({ kind: 'verified' }),
};

export function mac(
  algorithm: 'sha1' | 'sha256' | 'sha512',
  secret: string,
  encoding: 'hex' | 'base64' | 'base64url',
  ...pieces: readonly (string | Uint8Array)[]
): string {
  const digest = createHmac(algorithm, secret);
  for (const piece of pieces) digest.update(piece);
  return digest.digest(encoding);
}
