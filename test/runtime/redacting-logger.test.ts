import { type Logger, pino } from 'pino';
import { expect, test } from 'vitest';
import { redactingLogger } from '../../src/runtime/redacting-logger.js';

const SECRET = 'marker';

test('[MET-5] a logger that was passed in gets no secret, and keeps its own ways', () => {
  const lines: string[] = [];
  const own = pino(
    { level: 'info', base: { app: 'shop' }, serializers: { user: (id: unknown) => `user ${String(id)}` } },
    { write: (line: string) => void lines.push(line) },
  );
  const log = redactingLogger(own);
  log.debug({ user: 1 }, 'not at this level');
  log.info({ user: 1, headers: { authorization: SECRET } }, 'hello');
  log.error(new Error('alone'));
  log.warn('a text alone');
  own.level = 'debug';
  log.debug({ token: SECRET }, 'now at this level');
  const read = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(read.map(({ msg }) => msg)).toEqual(['hello', 'alone', 'a text alone', 'now at this level']);
  expect(read[0]).toMatchObject({ app: 'shop', user: 'user 1', headers: { authorization: '[redacted]' } });
  expect(read[1]).toMatchObject({ level: 50, err: { message: 'alone' } });
  expect(lines.join('')).not.toContain(SECRET);
});

test('a logger of another make is called as it is, on itself', () => {
  class Plain {
    readonly #written: unknown[] = [];
    readonly debug = () => undefined;
    info(fields: unknown, message?: string): void {
      this.#written.push([fields, message]);
    }
    warn(): void {}
    error(): void {}
    isLevelEnabled(): boolean {
      return this.#written.length > 0;
    }
  }
  const log = redactingLogger(new Plain() as unknown as Logger);
  expect(log.isLevelEnabled('info')).toBe(false);
  log.info({ secret: SECRET }, 'hello');
  expect(log.isLevelEnabled('info')).toBe(true);
});
