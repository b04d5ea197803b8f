import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { knownVariables, readConfiguration, type ServeFlags } from '../../src/cli/configuration.js';
import type { InvalidSettings } from '../../src/cli/settings-reader.js';
import { sourceText } from '../house/sources.js';
import { temporaryFolder } from './processes.js';

type Environment = Readonly<Record<string, string>>;

const DEFAULTS = { databaseUrl: 'sqlite:./lanehead.db', namespaces: ['acme'] };
const read = (environment: Environment, flags: ServeFlags = {}, defaults = DEFAULTS) =>
  readConfiguration(flags, environment, defaults);

function problemsOf(environment: Environment, flags: ServeFlags = {}, defaults = DEFAULTS): string[] {
  try {
    read(environment, flags, defaults);
  } catch (error) {
    expect(error).toMatchObject({ code: 'invalid_configuration' });
    return (error as InvalidSettings).message.split('\n');
  }
  return [];
}

/** The one problem with one variable. */
const problemOf = (name: string, value: string): string | undefined => problemsOf({ [name]: value })[0];

describe('configuration', () => {
  test('has the documented defaults', () => {
    expect(read({})).toEqual({
      options: {
        databaseUrl: 'sqlite:./lanehead.db',
        namespaces: ['acme'],
        role: 'all',
        listen: { host: '127.0.0.1', port: 8420 },
        admin: { port: 8421 },
        drain: {},
        admission: {},
        trustProxy: [],
        unsafeDurability: false,
      },
      stopTimeoutMs: 30_000,
      notices: [],
    });
  });

  test('is read from variables, and flags win', () => {
    const environment = {
      DATABASE_URL: 'sqlite:/data/of-the-environment.db',
      LANEHEAD_NAMESPACES: 'acme, globex',
      LANEHEAD_HOST: '::1',
      LANEHEAD_PORT: '0',
      LANEHEAD_ADMIN_PORT: '0',
      LANEHEAD_LEASE_MS: '15000',
      LANEHEAD_STOP_TIMEOUT_MS: '0',
      LANEHEAD_MAX_BODY_BYTES: '1024',
      LANEHEAD_TARGET_WAIT_MS: '250',
      LANEHEAD_COMMIT_DEADLINE_MS: '500',
      LANEHEAD_POOL_SIZE: '3',
      LANEHEAD_ADMISSION_POOL_SIZE: '2',
      LANEHEAD_TRUST_PROXY: '10.0.0.0/8,192.168.1.1, 2001:db8::/32',
    };
    const configuration = read(environment, {}, { ...DEFAULTS, namespaces: [] });
    expect(configuration.options).toMatchObject({
      databaseUrl: 'sqlite:/data/of-the-environment.db',
      namespaces: ['acme', 'globex'],
      listen: { host: '::1', port: 0 },
      admin: { port: 0 },
      drain: { leaseMs: 15_000 },
      maxBodyBytes: 1_024,
      admission: { targetWaitMs: 250, commitDeadlineMs: 500 },
      poolSize: 3,
      admissionPoolSize: 2,
      trustProxy: ['10.0.0.0/8', '192.168.1.1', '2001:db8::/32'],
    });
    expect(configuration.stopTimeoutMs).toBe(0);
    const flags = {
      db: 'sqlite:./flag.db',
      namespace: ['initech'],
      role: 'worker',
      host: '0.0.0.0',
      port: '1',
      adminPort: '2',
    };
    expect(read(environment, flags).options).toMatchObject({
      databaseUrl: 'sqlite:./flag.db',
      namespaces: ['initech'],
      role: 'worker',
      listen: { host: '0.0.0.0', port: 1 },
      admin: { port: 2 },
    });
  });

  test('names every wrong setting at once, one line each, and repeats no value', () => {
    const secret = 'hunter2';
    const environment = {
      DATABASE_URL: `postgres://root:${secret}@host/db`,
      LANEHEAD_NAMESPACES: `acme,${secret.toUpperCase()}`,
      LANEHEAD_HOST: `${secret} `.repeat(2),
      LANEHEAD_PORT: secret,
      LANEHEAD_ADMIN_PORT: '65536',
      LANEHEAD_ADMIN_TOKEN: `${secret} ✓`,
      LANEHEAD_LEASE_MS: '99',
      LANEHEAD_STOP_TIMEOUT_MS: '-1',
      LANEHEAD_MAX_BODY_BYTES: '1e3',
      LANEHEAD_TARGET_WAIT_MS: '0',
      LANEHEAD_COMMIT_DEADLINE_MS: '600001',
      LANEHEAD_POOL_SIZE: '0',
      LANEHEAD_ADMISSION_POOL_SIZE: 'few',
      LANEHEAD_TRUST_PROXY: `10.0.0.1,${secret},10.1/8`,
      LANEHEAD_RETENTION_DAYS: '30',
      LANEHEAD_IDEMPOTENCY_DAYS: '29',
      NEXUSCRM_CONNECTOR_INBOUND_WORKERS_PER_PACK: '0',
      LANEHEAD_MAX_PROCESSING_ROWS: '2.5',
      LANEHEAD_FLOW_DEADLINE_MS: '',
      LANEHEAD_QUEUE_PROFILE: secret,
      NEXUSCRM_CONNECTOR_INBOUND_STAGE_TIMING: secret,
      LANEHEAD_TRUST_TRACEPARENT: 'yes',
      LANEHEAD_NAMESPACE: secret,
    };
    const problems = problemsOf(environment, { role: secret });
    const named = problems.map((line) => line.slice(0, line.indexOf(':'))).sort();
    // The misspelt one is named by itself; retention alone is fine.
    const wrong = Object.keys(environment).filter((name) => name !== 'LANEHEAD_RETENTION_DAYS');
    expect(named).toEqual(['--role', ...wrong].sort());
    expect(problems.join('\n').toLowerCase()).not.toContain(secret);
  });

  test.each([
    ['DATABASE_URL', 'hunter2', 'must be sqlite:<path> or mysql://user@host:3306/database'],
    ['DATABASE_URL', 'mysql://root:hunter2@host', 'the database is missing'],
    [
      'LANEHEAD_TARGET_WAIT_MS',
      '9000',
      'must be at most half of LANEHEAD_COMMIT_DEADLINE_MS, which is 10000',
    ],
    ['LANEHEAD_COMMIT_DEADLINE_MS', '1500', 'must be at least twice LANEHEAD_TARGET_WAIT_MS, which is 1000'],
    ['LANEHEAD_TRUST_PROXY', '127.1', 'entry 1 is not an address or a CIDR range'],
    ['LANEHEAD_TRUST_PROXY', '10.0.0.0/33', 'entry 1 is not an address or a CIDR range'],
    ['LANEHEAD_TRUST_PROXY', '10.0.0.1,', 'entry 2 is not an address or a CIDR range'],
    ['LANEHEAD_PORT', ' ', 'is empty; leave it out or give it a value'],
    ['LANEHEAD_PORT', '0x1F', 'must be a whole number from 0 to 65535'],
    ['LANEHEAD_FLOW_DEADLINE_MS', '2147483647', 'must be a whole number from 1 to 1073741823'],
    ['LANEHEAD_PORTS', '1', 'is not a setting; did you mean LANEHEAD_PORT?'],
    ['LANEHEAD_DATABASE_URL', 'x', 'is not a setting; did you mean DATABASE_URL?'],
    ['LANEHEAD_GITHUB_SECRET', 'x', "is not a setting; a pack's own variables must not begin with LANEHEAD_"],
  ])('%s=%j: %s', (name, value, problem) => {
    expect(problemOf(name, value)).toBe(`${name}: ${problem}`);
  });

  test('needs a namespace, and two ports that differ', () => {
    const flags = { port: '9000', adminPort: '9000' };
    expect(problemsOf({}, flags, { ...DEFAULTS, namespaces: [] })).toEqual([
      '--namespace: name at least one, or set LANEHEAD_NAMESPACES',
      '--admin-port: the port for health and metrics must not be the port for webhooks',
    ]);
  });

  test('reads secrets from files, and not from both', () => {
    const file = join(temporaryFolder(), 'url');
    writeFileSync(file, 'sqlite:/data/of-the-file.db\n');
    expect(read({ DATABASE_URL_FILE: file }).options.databaseUrl).toBe('sqlite:/data/of-the-file.db');
    const flag = { db: 'sqlite:./flag.db' };
    expect(read({ DATABASE_URL_FILE: file }, flag).options.databaseUrl).toBe('sqlite:./flag.db');
    expect(
      problemsOf({
        DATABASE_URL_FILE: file,
        DATABASE_URL: 'sqlite:x',
        LANEHEAD_ADMIN_TOKEN_FILE: `${file}.no`,
      }),
    ).toEqual([
      'DATABASE_URL_FILE: is set beside DATABASE_URL; set one of them',
      'LANEHEAD_ADMIN_TOKEN_FILE: the file cannot be read (ENOENT)',
    ]);
  });

  test('says of each setting that it accepts and does not obey that it does not', () => {
    const { notices } = read({
      LANEHEAD_ADMIN_TOKEN: 'token',
      LANEHEAD_RETENTION_DAYS: '30',
      LANEHEAD_IDEMPOTENCY_DAYS: '30',
    });
    expect(notices.map((notice) => notice.split(' ')[0])).toEqual([
      'LANEHEAD_ADMIN_TOKEN',
      'LANEHEAD_RETENTION_DAYS',
      'LANEHEAD_IDEMPOTENCY_DAYS',
    ]);
  });

  test('leaves the variables of the test suite alone', () => {
    expect(problemsOf({ LANEHEAD_TEST_MYSQL_URL: 'x', LANEHEAD_MUTANT: 'x' })).toEqual([]);
  });

  test('is documented whole', () => {
    const page = sourceText('docs/configuration.md');
    expect(knownVariables().filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    const rows = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1]!);
    expect(rows.filter((name) => !knownVariables().includes(name))).toEqual([]);
  });
});

describe('rollout flags', () => {
  const FLAGS = [
    ['FLG-1', 'INBOUND_WORKERS_PER_PACK', 'WORKERS_PER_PACK', 'workersPerPack'],
    ['FLG-2', 'INBOUND_MAX_PROCESSING_ROWS', 'MAX_PROCESSING_ROWS', 'maxProcessingRows'],
    ['FLG-5', 'FLOW_DEADLINE_MS', 'FLOW_DEADLINE_MS', 'flowDeadlineMs'],
  ] as const;

  for (const [clause, contract, own, setting] of FLAGS) {
    test(`[${clause}] ${contract} is read under its exact name and as an alias, and reaches the drain`, () => {
      expect(read({ [`NEXUSCRM_CONNECTOR_${contract}`]: '9' }).options.drain).toEqual({ [setting]: 9 });
      expect(read({ [`LANEHEAD_${own}`]: '7' }).options.drain).toEqual({ [setting]: 7 });
      const both = { [`NEXUSCRM_CONNECTOR_${contract}`]: '3', [`LANEHEAD_${own}`]: '3' };
      expect(read(both).options.drain).toEqual({ [setting]: 3 });
    });

    test(`[${clause}] ${contract} and its alias set to different values are refused`, () => {
      const names = [`NEXUSCRM_CONNECTOR_${contract}`, `LANEHEAD_${own}`] as const;
      expect(problemsOf({ [names[0]]: '3', [names[1]]: '4' })).toEqual([
        `${names[0]}: differs from ${names[1]}, which is the same setting; set one of them`,
      ]);
    });
  }

  test('[FLG-1, FLG-2, FLG-4, FLG-5] the two names of a setting agree where they mean the same, however it is written', () => {
    for (const [, contract, own, setting] of FLAGS) {
      const both = { [`NEXUSCRM_CONNECTOR_${contract}`]: '03', [`LANEHEAD_${own}`]: '3' };
      expect(read(both).options.drain).toEqual({ [setting]: 3 });
    }
    const timing = ['NEXUSCRM_CONNECTOR_INBOUND_STAGE_TIMING', 'LANEHEAD_STAGE_TIMING'] as const;
    expect(read({ [timing[0]]: 'true', [timing[1]]: '1' }).options.stageTiming).toBe(true);
    expect(read({ [timing[0]]: '0', [timing[1]]: 'false' }).options.stageTiming).toBe(false);
    expect(problemsOf({ [timing[0]]: '1', [timing[1]]: '0' })).toHaveLength(1);
  });

  test('a value that is wrong is refused under each of its two names', () => {
    const names = ['NEXUSCRM_CONNECTOR_INBOUND_WORKERS_PER_PACK', 'LANEHEAD_WORKERS_PER_PACK'] as const;
    const expected = 'must be a whole number from 1 to 10000';
    expect(problemsOf({ [names[0]]: '4', [names[1]]: 'true' })).toEqual([`${names[1]}: ${expected}`]);
    expect(problemsOf({ [names[0]]: 'x', [names[1]]: 'x' })).toEqual(
      names.map((name) => `${name}: ${expected}`),
    );
  });

  test('[FLG-3] the queue profile is known under both names, and nothing but its two values', () => {
    for (const name of ['NEXUSCRM_CONNECTOR_INBOUND_QUEUE_PROFILE', 'LANEHEAD_QUEUE_PROFILE']) {
      for (const profile of ['reserved', 'default-heavy'])
        expect(read({ [name]: profile }).options.drain).toEqual({ queueProfile: profile });
      expect(problemOf(name, 'Reserved')).toBe(`${name}: must be one of reserved, default-heavy`);
    }
  });

  test('[FLG-4] stage timing is off, and turned on and off under both names, not under two that differ', () => {
    const names = ['NEXUSCRM_CONNECTOR_INBOUND_STAGE_TIMING', 'LANEHEAD_STAGE_TIMING'] as const;
    expect(read({}).options.stageTiming).toBeUndefined();
    for (const name of names) {
      for (const word of ['true', '1']) expect(read({ [name]: word }).options.stageTiming).toBe(true);
      for (const word of ['false', '0']) expect(read({ [name]: word }).options.stageTiming).toBe(false);
      expect(problemOf(name, 'on')).toBe(`${name}: must be one of true, false, 1, 0`);
    }
    expect(problemsOf({ [names[0]]: 'true', [names[1]]: 'false' })).toEqual([
      `${names[0]}: differs from ${names[1]}, which is the same setting; set one of them`,
    ]);
  });
});
