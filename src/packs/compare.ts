import { createHash, timingSafeEqual } from 'node:crypto';

/** Constant-time for equal lengths. For signatures, whose length is public. */
export function sameSignature(expected: Uint8Array, received: Uint8Array): boolean {
  return expected.length === received.length && timingSafeEqual(expected, received);
}

/** Constant-time whatever the lengths. For tokens and passwords, whose length is part of the secret. */
export function sameSecret(expected: string, received: string): boolean {
  return timingSafeEqual(digest(expected), digest(received));
}

const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
