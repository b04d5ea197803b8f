import { describe, expect, test } from 'vitest';
import { classify, connectionIsLost, type Phase } from '../../../src/store/dialects/mysql/errors.js';
import { AccessRefused, Contention, DuplicateKey, StoreOutage } from '../../../src/store/driver.js';
import { openingFailure } from '../../../src/store/store.js';

const engineError = (errno: number, message = 'as the server says it'): Error =>
  Object.assign(new Error(message), { errno, code: `ER_${errno}`, sqlState: 'HY000' });
const clientError = (code: string): Error => Object.assign(new Error('as the client says it'), { code });

const NUMBERS = {
  contention: [1020, 1205, 1213, 1412, 1615, 3101, 3572, 8002, 8005, 8022, 8028, 9004, 9007],
  outage: [
    ...[1021, 1026, 1030, 1037, 1040, 1041, 1114, 1129, 1135, 1180, 1203, 1206, 1226, 1317, 1461, 1969, 3024],
    ...[8027, 8120, 8252, 9001, 9002, 9003, 9005, 9008],
  ],
  outageThatLosesTheConnection: [
    ...[1043, 1047, 1053, 1152, 1158, 1159, 1160, 1161, 1243, 1290, 1792, 1836, 1927, 3169, 4031],
  ],
  refused: [1044, 1045, 1049, 1130, 1142, 1143, 1227, 1370, 1698, 1820, 1862, 3118, 4151],
  oversized: [8004, 8025],
  permanent: [1054, 1064, 1146, 1406],
};
const CODES = [
  ...[
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'ENOENT',
    'EACCES',
    'EMFILE',
    'ENFILE',
  ],
  ...['EHOSTUNREACH', 'EHOSTDOWN', 'ENETUNREACH', 'ENETDOWN', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'],
  ...['ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END', 'ERR_SOCKET_CLOSED', 'HANDSHAKE_SSL_ERROR'],
  ...['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_ERROR', 'PROTOCOL_UNEXPECTED_PACKET'],
];
const PHASES: readonly Phase[] = ['connect', 'begin', 'statement', 'autocommit', 'commit'];

function outcomeOf(error: Error, phase: Phase): string {
  const classified = classify(error, phase);
  if (classified instanceof StoreOutage) return `outage ${classified.outcome}`;
  return classified === error ? 'as it is' : classified.name;
}

const outages = {
  connect: 'none',
  begin: 'none',
  statement: 'none',
  autocommit: 'unknown',
  commit: 'unknown',
};

describe('[ADM-3] every error of the engine is contention, an outage, a refused key, or itself', () => {
  test.each([1062, 1586])('%i is thrown into the plan as a refused key', (errno) => {
    expect(classify(engineError(errno), 'statement')).toBeInstanceOf(DuplicateKey);
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test('FIELD §1: a key refused only at COMMIT stored nothing; the next run sees the other row', () => {
    expect(classify(engineError(1062), 'commit')).toBeInstanceOf(Contention);
  });

  test.each(NUMBERS.contention)('%i is contention in every phase, on a connection that lives on', (errno) => {
    for (const phase of PHASES) expect(classify(engineError(errno), phase)).toBeInstanceOf(Contention);
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test.each(NUMBERS.outage)('%i is an outage, unknown once COMMIT was sent', (errno) => {
    for (const phase of PHASES) expect(outcomeOf(engineError(errno), phase)).toBe(`outage ${outages[phase]}`);
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test.each(NUMBERS.outageThatLosesTheConnection)(
    '%i is an outage, and its connection is dropped',
    (errno) => {
      for (const phase of PHASES)
        expect(outcomeOf(engineError(errno), phase)).toBe(`outage ${outages[phase]}`);
      expect(connectionIsLost(engineError(errno))).toBe(true);
      expect(connectionIsLost(classify(engineError(errno), 'statement'))).toBe(true);
    },
  );

  test.each(CODES)('%s is an outage, and its connection is dropped', (code) => {
    for (const phase of PHASES) expect(outcomeOf(clientError(code), phase)).toBe(`outage ${outages[phase]}`);
    expect(connectionIsLost(clientError(code))).toBe(true);
  });

  test.each(NUMBERS.refused)('%i is an outage to what is served, and a setting to what opens', (errno) => {
    for (const phase of PHASES) {
      const error = classify(engineError(errno), phase);
      expect(error).toBeInstanceOf(AccessRefused);
      expect(error).toMatchObject({ outcome: phase === 'commit' ? 'unknown' : 'none' });
      expect(openingFailure(error)).toMatchObject({
        code: 'invalid_configuration',
        message: expect.stringMatching(/^DATABASE_URL: as the server says it; ./),
      });
    }
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test.each(NUMBERS.permanent)('%i is rethrown as it is', (errno) => {
    for (const phase of ['connect', 'begin', 'statement', 'autocommit'] as const) {
      expect(outcomeOf(engineError(errno), phase)).toBe('as it is');
    }
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test.each(NUMBERS.oversized)('%i is payload_too_large, at COMMIT too: nothing was stored', (errno) => {
    for (const phase of ['statement', 'autocommit', 'commit'] as const) {
      expect(classify(engineError(errno), phase)).toMatchObject({ code: 'payload_too_large' });
    }
    expect(connectionIsLost(engineError(errno))).toBe(false);
  });

  test('any other surprise at COMMIT is unknown', () => {
    expect(outcomeOf(engineError(1105, 'surprise'), 'commit')).toBe('outage unknown');
  });

  test('FIELD §1: 1105 is contention only when it speaks of a lost pessimistic lock', () => {
    expect(outcomeOf(engineError(1105, 'tikv: pessimistic lock not found, retry'), 'statement')).toBe(
      'Contention',
    );
    expect(outcomeOf(engineError(1105, 'unknown error'), 'statement')).toBe('as it is');
  });

  test('a fatal error of the client without any code is an outage', () => {
    const closed = Object.assign(new Error('closed state'), { fatal: true });
    expect(outcomeOf(closed, 'statement')).toBe('outage none');
    expect(outcomeOf(Object.assign(engineError(1054), { fatal: true }), 'connect')).toBe('as it is');
  });

  test('nothing is read out of the message of 1062, and what is thrown names no key', () => {
    const error = classify(engineError(1062, "Duplicate entry 'secret' for key 'uniq_x'"), 'statement');
    expect(error.message).not.toContain('secret');
    expect(error.cause).toBeInstanceOf(Error);
  });
});
