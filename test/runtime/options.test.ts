import { describe, expect, it } from 'vitest';
import { definePack } from '../../src/packs/define-pack.js';
import { signatures } from '../../src/packs/signatures.js';
import { parseDatabaseUrl } from '../../src/runtime/database-url.js';
import { settingsOf } from '../../src/runtime/options.js';

const pack = definePack({
  name: 'plain',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: 'a secret' }),
      materialize: () => ({ deliveries: [] }),
      flow: () => undefined,
    },
  },
});

/** Each problem, as a line of its own. */
function refusalOf(options: unknown): string[] {
  try {
    settingsOf(options as never);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_configuration' });
    return (error as Error).message.split('; ');
  }
  return [];
}

describe('configuration of the runtime', () => {
  it('reads database addresses', () => {
    expect(parseDatabaseUrl('sqlite:./a.db')).toEqual({ engine: 'sqlite', path: './a.db' });
    expect(parseDatabaseUrl('sqlite:/var/a.db')).toEqual({ engine: 'sqlite', path: '/var/a.db' });
    expect(parseDatabaseUrl('sqlite:///var/a.db')).toEqual({ engine: 'sqlite', path: '/var/a.db' });
    expect(parseDatabaseUrl('mysql://user@host/db')).toMatchObject({ engine: 'mysql' });
  });

  it('refuses others without repeating a password', () => {
    for (const url of ['postgres://user:hunter2@host/db', 'sqlite:', 'nonsense hunter2']) {
      try {
        parseDatabaseUrl(url);
        expect.unreachable();
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_configuration' });
        expect((error as Error).message).not.toContain('hunter2');
      }
    }
  });

  it('names everything that is wrong at once', () => {
    const wrong = {
      packs: [pack, pack],
      namespaces: ['UPPER', 'ok', '../up'],
      databaseUrl: 'redis://x',
      role: 'none' as never,
    };
    try {
      settingsOf(wrong);
      expect.unreachable();
    } catch (error) {
      const { message } = error as Error;
      for (const part of [
        '"plain" is given twice',
        'namespaces.0: ',
        'namespaces.2: ',
        'databaseUrl: its scheme',
        'role: ',
      ])
        expect(message).toContain(part);
      expect(message).not.toMatch(/namespaces\.1|UPPER|redis|none/);
    }
    expect(() => settingsOf({ packs: [], namespaces: [] })).toThrow(/packs.*namespaces/);
  });

  const wrong: readonly [string, object, string][] = [
    ['no namespaces', { namespaces: undefined }, 'namespaces: must be a list of names'],
    ['a text for a list', { namespaces: 'acme' }, 'namespaces: must be a list of names'],
    ['no pack', { packs: [{}] }, 'packs.0: must be made by definePack'],
    ['a port', { listen: { port: 70_000 } }, 'listen.port: must be a whole number from 0 to 65535'],
    ['an address', { admin: 8421 }, 'admin: must be an object with a port'],
    [
      'equal ports',
      { listen: { port: 1 }, admin: { port: 1 } },
      'admin.port: must not be the port for webhooks',
    ],
    ['a proxy', { trustProxy: ['10.1'] }, 'trustProxy.0: must be an address or a CIDR range'],
    ['a range', { trustProxy: ['::1', '10.0.0.0/33'] }, 'trustProxy.1: must be an address or a CIDR range'],
    ['a logger', { logger: 5 }, 'logger: must be a pino logger'],
    ['a database', { databaseUrl: 5 }, 'databaseUrl: must be sqlite:<path> or mysql://…'],
    ['a limit', { maxBodyBytes: -1 }, 'maxBodyBytes: must be a whole number from 1 to 134217728'],
    [
      'an admission setting',
      { admission: { targetWaitMs: 0 } },
      'admission.targetWaitMs: must be a whole number from 1 to 600000',
    ],
    [
      'a wait beyond its deadline',
      { admission: { targetWaitMs: 5_001 } },
      'admission.targetWaitMs: must be at most half of commitDeadlineMs',
    ],
    ['an unknown admission setting', { admission: { foo: 1 } }, 'admission.foo: is not a known field'],
    [
      'a bound below a body',
      { admission: { maxUnverifiedBytes: 1_000 } },
      'admission: plain/events takes bodies of 5242880 bytes, and 1000 may be in hand',
    ],
    [
      'a pool of admission',
      { admissionPoolSize: 0 },
      'admissionPoolSize: must be a whole number from 1 to 10000',
    ],
    ['a pool', { poolSize: 0 }, 'poolSize: must be a whole number from 1 to 10000'],
    ['an unknown option', { workers: 4 }, 'workers: is not a known field'],
    ['an unknown setting', { drain: { foo: 1 } }, 'drain.foo: is not a known field'],
    ['a setting', { drain: { leaseMs: 5 } }, 'drain.leaseMs: must be a whole number from 100 to 2147483647'],
    ['a poll', { drain: { poll: null } }, 'drain.poll: needs 1 <= minMs <= maxMs'],
    ['a flag', { unsafeDurability: 'yes' }, 'unsafeDurability: must be true or false'],
  ];
  it.each(wrong)('names %s, and nothing else', (_, change, message) => {
    expect(refusalOf({ packs: [pack], namespaces: ['acme'], ...change })).toEqual([message]);
  });

  it('names all of them at once, also when nothing is given', () => {
    const changes = wrong.map(([, change]) => change).filter((change) => !('namespaces' in change));
    const messages = refusalOf(Object.assign({ namespaces: ['acme'] }, ...changes)).join();
    for (const name of ['packs.0', 'admin.port', 'trustProxy', 'logger', 'poolSize', 'workers', 'drain.poll'])
      expect(messages).toContain(`${name}`);
    expect(refusalOf({})).toEqual(['packs: must be a list of packs', 'namespaces: must be a list of names']);
    expect(refusalOf(undefined)).toEqual(['options: must be an object']);
  });

  it('fills in the documented defaults', () => {
    expect(settingsOf({ packs: [pack], namespaces: ['acme'] })).toMatchObject({
      databaseUrl: 'sqlite:./lanehead.db',
      role: 'all',
      unsafeDurability: false,
    });
  });
});
