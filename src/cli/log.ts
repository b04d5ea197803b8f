import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { redacted } from '../core/redact.js';
import { neutralize } from './output.js';

const STDERR = 2;

/** Lines of JSON on stderr, written before the call returns, so that the last ones before an exit are there too. */
export function jsonLog(
  destination: DestinationStream = pino.destination({ dest: STDERR, sync: true }),
): Logger {
  return pino({ timestamp: stdTimeFunctions.isoTime, formatters: { log: redacted } }, destination);
}

/** The same lines, for a person. */
export function readableLog(write: (line: string) => void): Logger {
  return jsonLog({ write: (line) => write(readableLine(JSON.parse(line) as LogLine)) });
}

interface LogLine {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
  readonly [field: string]: unknown;
}

const NOT_SHOWN = new Set(['level', 'time', 'msg', 'pid', 'hostname']);

function readableLine(line: LogLine): string {
  const fields = Object.entries(line)
    .filter(([name]) => !NOT_SHOWN.has(name))
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const level = pino.levels.labels[line.level] ?? String(line.level);
  const parts = [line.time.slice(11, 19), level.toUpperCase().padEnd(5), line.msg ?? '', ...fields];
  return neutralize(parts.join(' '));
}
