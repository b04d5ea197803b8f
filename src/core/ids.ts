import type { Clock } from './clock.js';
import type { Random } from './random.js';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_CHARACTERS = 10;
const RANDOM_CHARACTERS = 16;

/** What an id names; the prefix lets a person see which kind they are holding. */
export type IdKind = 'rcp' | 'evt' | 'wrk' | 'act';

/** Makes ids: `kind_` + 50 bits of time + 80 random bits, ASCII, sortable by creation time to the millisecond. */
export type NewId = (kind: IdKind) => string;

export function idMaker(clock: Clock, random: Random): NewId {
  return (kind) => {
    let rest = clock.now();
    let text = '';
    for (let i = 0; i < TIME_CHARACTERS; i++) {
      text = ALPHABET[rest % 32] + text;
      rest = Math.floor(rest / 32);
    }
    for (const byte of random.bytes(RANDOM_CHARACTERS)) text += ALPHABET[byte & 31];
    return `${kind}_${text}`;
  };
}

/** A lease token: 128 random bits in hex. Unguessable, so that only its holder can act on the lease. */
export function newLeaseToken(random: Random): string {
  return Buffer.from(random.bytes(16)).toString('hex');
}
