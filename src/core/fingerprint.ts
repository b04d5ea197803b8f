import { digestParts } from './identity.js';
import type { WorkError } from './outcome.js';

/** What of a message is kept beside its fingerprint; characters. */
const MAX_CHARACTERS = 200;
const DIGEST_CHARACTERS = 16;

/** What differs from one failure to the next of the same cause: ids, digests, addresses, numbers. */
const VARYING = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b(?=\w*\d)\w{8,}\b|\d+(?:\.\d+)*/giu;

/** A message as all failures of one cause share it: what varies is `…`, white space is one blank. */
export const commonMessage = (message: string): string =>
  message.replace(VARYING, '…').replace(/\s+/gu, ' ').trim().slice(0, MAX_CHARACTERS);

/**
 * Which failures are the same one: of an installed pack, by route, error code and message, ids and numbers left out.
 * 18 to 36 characters of ASCII.
 */
export function failureFingerprint(packId: number, route: string, { code, message }: WorkError): string {
  const digest = digestParts(['failure', route, code, commonMessage(message)]);
  return `${digest.toString('hex').slice(0, DIGEST_CHARACTERS)}.${packId}`;
}
