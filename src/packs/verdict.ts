import type { HandshakeAnswer, SignatureScheme, Verification } from './types.js';

export const VERIFIED: Verification = Object.freeze({ kind: 'verified' });

export function refused(reason: string, status: 401 | 403 = 401): Verification {
  return { kind: 'refused', status, reason };
}

export function handshake(answer: HandshakeAnswer): Verification {
  return { kind: 'handshake', answer };
}

/** What a sender chose is echoed as plain text that no browser may take for anything else. */
export function textAnswer(body: string): HandshakeAnswer {
  const headers = { 'x-content-type-options': 'nosniff' };
  return { status: 200, body, contentType: 'text/plain; charset=utf-8', headers };
}

export function scheme(parts: SignatureScheme): SignatureScheme {
  return Object.freeze({ ...parts, methods: Object.freeze([...parts.methods]) });
}
