import { z } from 'zod';
import { LaneheadError } from '../core/errors.js';
import { faultsOf } from './schema-parts.js';
import type { SignatureScheme } from './types.js';

/** What it holds is looked at for each namespace, by `requireSecrets`. */
export const secretSource = z.custom<unknown>(
  (value) => typeof value === 'string' || Array.isArray(value) || typeof value === 'function',
  {
    error: ({ input }) => `must be a string, a list of strings or a function, and is ${typeof input}`,
    abort: false,
  },
);

export const urlSource = z.custom<unknown>(
  (value) => typeof value === 'string' || typeof value === 'function',
  {
    error: ({ input }) => `must be a URL or a function that gives one, and is ${typeof input}`,
    abort: false,
  },
);

export const toleranceMs = z
  .number('must be a number above 0')
  .positive('must be a number above 0')
  .optional();

/** @throws LaneheadError `invalid_pack` naming every wrong or unknown option at once. */
export function checkOptions(scheme: string, schema: z.ZodType, options: unknown): void {
  const { error } = schema.safeParse(options);
  if (error === undefined) return;
  const faults = faultsOf(error, 'options').map((fault) => `signatures.${scheme}: ${fault}`);
  throw new LaneheadError('invalid_pack', faults.join('; '));
}

export const optionsOf = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, 'must be an object');

/** The same scheme, whose options are looked at before it is made: a pack may be written without types. */
export function checked<Make extends (options: never) => SignatureScheme>(
  name: string,
  make: Make,
  shape: z.ZodRawShape,
): Make {
  const schema = optionsOf(shape);
  const making = (options: never): SignatureScheme => {
    checkOptions(name, schema, options);
    return make(options);
  };
  return making as Make;
}
