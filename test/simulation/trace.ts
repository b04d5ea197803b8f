import { createHash } from 'node:crypto';

const FLUSH_CHARACTERS = 1 << 15;

/**
 * Everything that happened, as one number: statements with their parameters and answers, events with their times,
 * draws, crashes. Two runs of one seed that differ anywhere differ here.
 */
export class Trace {
  readonly #hash = createHash('sha256');
  readonly #onNote: ((line: string) => void) | undefined;
  #text = '';
  #mixed = 0;

  /** @param onNote is told every note, for whoever reads along. */
  constructor(onNote?: (line: string) => void) {
    this.#onNote = onNote;
  }

  mix(value: number): void {
    this.#mixed = (Math.imul(this.#mixed ^ (value >>> 0), 0x01000193) + 1) >>> 0;
  }

  /** For fractions: times are in milliseconds. */
  mixTime(atMs: number): void {
    this.mix(atMs * 1_024);
  }

  note(line: string): void {
    this.#onNote?.(line);
    this.#text += `${this.#mixed}|${line}\n`;
    if (this.#text.length > FLUSH_CHARACTERS) this.#flush();
  }

  digest(): string {
    this.note('end');
    this.#flush();
    return this.#hash.digest('hex').slice(0, 32);
  }

  #flush(): void {
    this.#hash.update(this.#text);
    this.#text = '';
  }
}
