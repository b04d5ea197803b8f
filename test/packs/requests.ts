import { expect } from 'vitest';
import { verifyRequest } from '../../src/packs/receipt.js';
import type { Receipt, SignatureScheme } from '../../src/packs/types.js';
import { type RequestInput, request, trusting } from './request-parts.js';

/** `verified`, `handshake`, or the status and reason of the refusal. */
export function verdictOf(scheme: SignatureScheme, input: RequestInput): string {
  const result = verifyRequest(scheme, request(input));
  return result.kind === 'refused' ? `${result.status} ${result.reason}` : result.kind;
}

export function verified(scheme: SignatureScheme, input: RequestInput): Receipt {
  const result = verifyRequest(scheme, request(input));
  if (result.kind !== 'verified') expect.fail(JSON.stringify(result));
  return result.receipt;
}

/** The status, body, type and headers a handshake answers. */
export function answerOf(scheme: SignatureScheme, input: RequestInput) {
  const result = verifyRequest(scheme, request(input));
  if (result.kind !== 'handshake') expect.fail(JSON.stringify(result));
  return result.answer;
}

export const receiptOf = (input: RequestInput = {}): Receipt => verified(trusting, input);

/** What the thrown error says; fails when nothing is thrown. */
export function thrownBy(action: () => unknown): { code: unknown; message: string } {
  try {
    action();
  } catch (error) {
    return { code: (error as { code?: unknown }).code, message: (error as Error).message };
  }
  return expect.fail('nothing was thrown');
}
