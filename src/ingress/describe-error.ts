import { isLaneheadError } from '../core/errors.js';
import { Contention, StoreOutage } from '../store/store.js';

export interface ErrorDescription {
  readonly name: string;
  readonly code?: string;
  readonly message?: string;
  readonly at?: readonly string[];
}

/**
 * What a log may hold of an error (MET-5). Drivers put statements, parameters and key values into messages and
 * properties, so only the house's own messages are taken; of any other error its kind and where it was thrown.
 */
export function describeError(error: unknown): ErrorDescription {
  if (!(error instanceof Error)) return { name: typeof error };
  const code = (error as NodeJS.ErrnoException).code;
  const own = isLaneheadError(error) || error instanceof StoreOutage || error instanceof Contention;
  return {
    name: error.name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(own ? { message: error.message } : { at: frames(error.stack) }),
  };
}

function frames(stack = ''): string[] {
  return stack
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => /^at .*:\d+:\d+\)?$/.test(line))
    .slice(0, 8);
}
