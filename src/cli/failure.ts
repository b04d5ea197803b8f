import { ERRORS, isLaneheadError } from '../core/errors.js';
import { Contention, openingFailure, StoreOutage } from '../store/store.js';
import { neutralize, toJson } from './output.js';
import { InvalidSettings } from './settings-reader.js';

/** How a command failed, for people and for their tools. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  /** What to do about it. */
  readonly action: string;
  /** 1 failed, 2 wrong usage, 3 not found. */
  readonly exitCode: 1 | 2 | 3;
}

/** Everything a command can throw, as one shape. */
export function failureOf(thrown: unknown): Failure {
  const error = openingFailure(thrown);
  if (isLaneheadError(error)) {
    const { code, message, action } = error;
    return { code, message, action, exitCode: exitCodeOf(error) };
  }
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof StoreOutage || error instanceof Contention) {
    return {
      code: 'store_unavailable',
      message,
      action: 'Check the database, then run it again.',
      exitCode: 1,
    };
  }
  return listenFailure(error) ?? { code: 'internal', message, action: UNPLANNED, exitCode: 1 };
}

export const usageFailure = (message: string): Failure => ({
  code: 'invalid_argument',
  message,
  action: 'See lanehead --help.',
  exitCode: 2,
});

const UNPLANNED = 'Nobody planned for this failure: report it when it repeats.';

function exitCodeOf(error: Error & { readonly code: string }): Failure['exitCode'] {
  if (error.code === 'not_found') return 3;
  if (error.code === 'invalid_argument') return 2;
  return error instanceof InvalidSettings && error.isUsage ? 2 : 1;
}

function listenFailure(error: unknown): Failure | null {
  const { syscall, code, address, port } = error as NodeJS.ErrnoException & {
    address?: string;
    port?: number;
  };
  if (syscall !== 'listen' && syscall !== 'getaddrinfo') return null;
  const where = address === undefined ? 'the host' : `${address}:${port}`;
  return {
    code: 'invalid_configuration',
    message: `cannot listen on ${where} (${code})`,
    action: ERRORS.invalid_configuration.action,
    exitCode: 1,
  };
}

/** As one JSON line, or readable. */
export function renderFailure(failure: Failure, asJson: boolean): string {
  const { code, message, action } = failure;
  if (asJson) return toJson({ error: { code, message, action } });
  const lines = message.split('\n').map(neutralize);
  const indented = lines.length === 1 ? ` ${lines[0]}` : lines.map((line) => `\n  ${line}`).join('');
  return `lanehead: ${code}:${indented}\n${action}`;
}
