import type { Logger } from 'pino';
import { redacted } from '../core/redact.js';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/**
 * The logger that was passed in, except that no field under a secret key reaches it. Done before the call, so that it
 * holds for every logger, whatever its serializers, formatters and transports do. Texts are their author's.
 */
export function redactingLogger(logger: Logger): Logger {
  const redacting = Object.create(logger) as Logger;
  redacting.isLevelEnabled = (level) => logger.isLevelEnabled(level);
  for (const level of LEVELS) {
    redacting[level] = (first: unknown, ...rest: readonly unknown[]) => {
      const write = logger[level].bind(logger) as (...values: readonly unknown[]) => void;
      if (typeof first !== 'object' || first === null) write(first, ...rest);
      else write(first instanceof Error ? redacted({ err: first }) : redacted(first), ...rest);
    };
  }
  return redacting;
}
