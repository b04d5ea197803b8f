import { z } from 'zod';

export function anyOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`);
}

export const text = z.string('must be a string');

/** Rules between fields are checked beside the fields' own, so that all faults are named at once. */
export const evenWithOtherFaults = {
  when: ({ value }: { readonly value: unknown }) => typeof value === 'object' && value !== null,
};

/** One line for each fault, `path: what is wrong`; no line repeats a value. */
export function faultsOf(error: z.ZodError, whole: string): string[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.map(String);
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => `${[...path, key].join('.')}: is not a known field`);
    }
    const message =
      issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
    return [`${path.join('.') || whole}: ${message}`];
  });
}
