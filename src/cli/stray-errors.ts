import type { Logger } from 'pino';
import type { StopSignals } from './stop-signals.js';

/**
 * Errors that nothing was there to catch, for a process that serves. A promise that a flow left behind concerns
 * that flow: its rejection is logged, and the others go on. An exception from nowhere may have left anything half
 * done: the process drains, as at a signal, and fails.
 */
export function containStrayErrors(log: Logger, signals: StopSignals): void {
  process.on('unhandledRejection', (reason) => {
    log.error({ err: errorOf(reason) }, 'a rejection that nobody handled');
  });
  process.on('uncaughtException', (error) => {
    const err = errorOf(error);
    log.fatal({ err }, 'an exception that nobody caught');
    signals.fail(new Error(`an exception that nobody caught: ${err.message}`, { cause: err }));
  });
}

/** Anything may be thrown; of what is no error only text is written down, for an object may hold a payload. */
function errorOf(thrown: unknown): Error {
  if (thrown instanceof Error) return thrown;
  return new Error(typeof thrown === 'string' ? thrown : `thrown: a value of type ${typeof thrown}`);
}
