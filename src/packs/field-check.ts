import { isDate, isUint8Array } from 'node:util/types';
import { QUEUE_CLASSES, type QueueClass } from '../core/work.js';
import { isStrayPromise } from './thenable.js';

const MAX_KEY_BYTES = 512;
const MAX_KEY_PARTS = 100;
const MAX_COMPANION_BYTES = 1_048_576;
const MAX_FAULTS = 20;
/** The last millisecond a Date can name. */
const MAX_TIME_MS = 8_640_000_000_000_000;

/** What is wrong with the output, field by field; holds no value and no unknown field's name, which may be payload. */
export class InvalidOutput extends Error {
  constructor(faults: readonly string[]) {
    super(faults.join('; '));
    this.name = 'InvalidOutput';
  }
}

/** Reads values, collects what is wrong with them, and gives back something of the right type to go on with. */
export class FieldCheck {
  readonly #faults: string[] = [];

  fault(at: string, problem: string): void {
    if (this.#faults.length < MAX_FAULTS) this.#faults.push(`${at}: ${problem}`);
  }

  settle(): void {
    if (this.#faults.length > 0) throw new InvalidOutput(this.#faults);
  }

  object<Field extends string>(
    at: string,
    value: unknown,
    fields: readonly Field[],
  ): { readonly [name in Field]?: unknown } {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.fault(at, 'must be an object');
      return {};
    }
    const unknown = Object.keys(value).filter((key) => !(fields as readonly string[]).includes(key)).length;
    if (unknown > 0) this.fault(at, `has ${unknown} unknown field(s), known are ${fields.join(', ')}`);
    return value;
  }

  /** The first `most` members, holes filled, each read once: a length says nothing of what an array holds. */
  list(at: string, value: unknown, most: number): readonly unknown[] {
    if (Array.isArray(value)) return firstOf(value, most);
    this.fault(at, 'must be an array');
    return [];
  }

  key(at: string, value: unknown, maxBytes = MAX_KEY_BYTES): string {
    const problem = keyProblem(value, maxBytes);
    if (problem === null) return value as string;
    this.fault(at, problem);
    return '';
  }

  optionalKey(at: string, value: unknown): string | null {
    return value === undefined ? null : this.key(at, value);
  }

  keyParts(at: string, value: unknown): readonly string[] | null {
    if (value === undefined) return null;
    const parts: readonly unknown[] = Array.isArray(value) ? firstOf(value, MAX_KEY_PARTS + 1) : [value];
    const known =
      parts.every((part) => typeof part === 'string' && isWellFormed(part)) && parts.some((part) => part);
    if (known && parts.length <= MAX_KEY_PARTS) return parts as readonly string[];
    const most = `at most ${MAX_KEY_PARTS} strings`;
    this.fault(at, `must be a string or a list of ${most}, not empty, of well-formed Unicode`);
    return null;
  }

  queueClass(at: string, value: unknown): QueueClass {
    const known = QUEUE_CLASSES.find((one) => one === (value ?? 'default'));
    if (known === undefined) this.fault(at, `must be one of ${QUEUE_CLASSES.join(', ')}`);
    return known ?? 'default';
  }

  payload(at: string, value: unknown): Uint8Array | null {
    if (value === undefined) return null;
    if (typeof value === 'string') return Buffer.from(value, 'utf8');
    if (!isUint8Array(value)) this.fault(at, 'must be a Uint8Array or a string');
    else if (isDetached(value)) this.fault(at, 'is detached: its buffer was transferred away');
    else return value;
    return null;
  }

  companion(at: string, value: unknown): string | null {
    if (value === undefined || value === null) return null;
    const text = toJson(value, MAX_COMPANION_BYTES);
    if (text === undefined) this.fault(at, 'must be JSON');
    else if (text === TOO_LONG) this.fault(at, `exceeds ${MAX_COMPANION_BYTES} bytes`);
    else return text;
    return null;
  }

  time(at: string, value: unknown): number | null {
    if (value === undefined) return null;
    const time = isDate(value) ? value.getTime() : value;
    if (typeof time === 'number' && time >= 0 && time <= MAX_TIME_MS) return Math.ceil(time);
    this.fault(at, 'must be a valid Date or epoch milliseconds');
    return null;
  }
}

function keyProblem(value: unknown, maxBytes: number): string | null {
  if (typeof value !== 'string' || value.trim() === '') return 'must be a string that is not empty';
  if (Buffer.byteLength(value) > maxBytes) return `exceeds ${maxBytes} bytes`;
  return isWellFormed(value) ? null : 'must be well-formed Unicode';
}

/** Lone surrogates all become U+FFFD as UTF-8, so two keys with them would be one. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

function firstOf(list: readonly unknown[], most: number): readonly unknown[] {
  return Array.from({ length: Math.min(list.length, most) }, (_, place) => list[place]);
}

/** Such bytes look empty to whoever reads them. */
function isDetached(bytes: Uint8Array): boolean {
  try {
    new Uint8Array(bytes.buffer, 0, 0);
    return false;
  } catch {
    return true;
  }
}

const TOO_LONG = Symbol('too long');

/**
 * `undefined` for what JSON cannot say: functions, cycles, BigInt, nesting beyond the stack; and for a promise, of which
 * it would say `{}`. What is too long is left as soon as that is known.
 */
function toJson(value: unknown, mostBytes: number): string | typeof TOO_LONG | undefined {
  let left = mostBytes;
  try {
    const text = JSON.stringify(value, (_key, part: unknown) => {
      if (isStrayPromise(part)) throw new TypeError('a promise is no JSON');
      left -= typeof part === 'string' ? part.length : 1;
      if (left < 0) throw TOO_LONG;
      return part;
    });
    return text !== undefined && Buffer.byteLength(text) > mostBytes ? TOO_LONG : text;
  } catch (error) {
    return error === TOO_LONG ? TOO_LONG : undefined;
  }
}
