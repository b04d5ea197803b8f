/** The contract runner, held to its word on small projects of its own. */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { checkContract, gapsOf, unprovenClauses } from '../../scripts/contract/check.js';
import type { Mutant } from '../../scripts/contract/mutants.js';
import { runMutants } from '../../scripts/contract/run-mutants.js';
import { clausesOf, testsOf } from '../../scripts/contract/titles.js';

const ROOT = join(import.meta.dirname, '../..');
// Inside the checkout, so that vitest is found from there.
mkdirSync(join(ROOT, '.tmp'), { recursive: true });
const PLAYGROUND = mkdtempSync(join(ROOT, '.tmp/contract-'));
afterAll(() => rmSync(PLAYGROUND, { recursive: true, force: true }));

const LAMP = `export function light(on: boolean, volts: number): string {
  if (!on) return 'dark';
  return volts > 200 ? 'bright' : 'dim';
}
`;
const LAMP_TEST = `import { expect, test } from 'vitest';
import { light } from '../src/lamp.js';
test('[LMP-1] is dark when off', () => expect(light(false, 230)).toBe('dark'));
test('[LMP-2] is bright at full voltage', () => expect(light(true, 230)).toBe('bright'));
`;
const CONFIG = `import { defineConfig } from 'vitest/config';
import { mutantPlugin } from '${join(ROOT, 'scripts/contract/mutant-plugin.js')}';
export default defineConfig({ plugins: [mutantPlugin(import.meta.dirname)], test: { include: ['test/*.test.ts'] } });
`;
const alwaysOn: Mutant = {
  id: 'always-on',
  clauses: ['LMP-1'],
  file: 'src/lamp.ts',
  find: 'if (!on)',
  replace: 'if (!on && volts > 1000)',
  test: 'test/lamp.test.ts',
};
const clause = (id: string, state = 'later') => ({ id, state, summary: 'a lamp' });

interface Project {
  readonly clauses?: readonly object[];
  readonly mutants?: readonly Mutant[];
  readonly spec?: string;
}

const LAMP_CLAUSES = [clause('LMP-1', 'required'), clause('LMP-2')];

function project({ clauses = LAMP_CLAUSES, mutants = [alwaysOn], spec = LAMP_TEST }: Project): string {
  const root = mkdtempSync(join(PLAYGROUND, 'project-'));
  const files = {
    'src/lamp.ts': LAMP,
    'test/lamp.test.ts': spec,
    'contract/clauses.json': JSON.stringify(clauses),
    'contract/mutants/lamp.json': JSON.stringify(mutants),
    'vitest.config.ts': CONFIG,
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

function problemsOf(root: string): string[] {
  const report = checkContract(root);
  return [...report.malformed, ...report.rows.flatMap(gapsOf)];
}

describe('titles', () => {
  test('name one clause or a list of whole ids; nothing shorter', () => {
    expect(clausesOf('[OWN-3] a').ids).toEqual(['OWN-3']);
    expect(clausesOf('[OWN-3, OWN-5] a [mysql]').ids).toEqual(['OWN-3', 'OWN-5']);
    expect(clausesOf('[SCH-1…4] a')).toEqual({ ids: [], malformed: ['SCH-1…4'] });
    expect(clausesOf('[SCH-1, 4] a').malformed).toEqual(['SCH-1, 4']);
  });

  test('are read through blocks, tables, templates and own helpers; silenced tests do not count', () => {
    const spec = `
      describe('[LMP-1] the lamp', () => {
        test.each([1, 2])('glows %i', () => {});
        test.skip('[LMP-2] never', () => {});
      });
      describe.each(['a'])('%s', () => it.skipIf(x)(\`[LMP-3] \${y} hums\`, () => {}));
      onBoth('[LMP-4] everywhere', () => {});
      log('[LMP-5]');
    `;
    expect(testsOf('x.test.ts', spec).map(({ title, clauses }) => [title, clauses])).toEqual([
      ['[LMP-1] the lamp > glows %i', ['LMP-1']],
      ['%s > [LMP-3] … hums', ['LMP-3']],
      ['[LMP-4] everywhere', ['LMP-4']],
    ]);
  });
});

describe('the check', () => {
  test('is content with a whole project', () => {
    expect(problemsOf(project({}))).toEqual([]);
  });

  test('misses the test and the mutant of a required clause, and of no later one', () => {
    const required = ['LMP-1', 'LMP-2'].map((id) => clause(id, 'required'));
    const root = project({ clauses: [...required, clause('LMP-3')], mutants: [] });
    writeFileSync(join(root, 'test/lamp.test.ts'), LAMP_TEST.replace('[LMP-1] ', ''));
    expect(problemsOf(root)).toEqual([
      'LMP-1 is required and no test names it',
      'LMP-1 is required and no mutant breaks it',
      'LMP-2 is required and no mutant breaks it',
    ]);
  });

  test('refuses ids that are not in the list, in titles and in mutants', () => {
    const mutants = [{ ...alwaysOn, clauses: ['LMP-1', 'LMP-9'] }];
    const root = project({ clauses: [clause('LMP-1')], mutants });
    expect(problemsOf(root)).toEqual([
      'test/lamp.test.ts: [LMP-2] is not in the clause list',
      'mutant always-on: LMP-9 is not in the clause list',
    ]);
  });

  test('refuses a mutant whose line occurs twice, never, or is not changed', () => {
    const mutants = [
      { ...alwaysOn, id: 'twice', find: "'d" },
      { ...alwaysOn, id: 'never', find: 'if (off)' },
      { ...alwaysOn, id: 'same', replace: alwaysOn.find },
    ];
    expect(problemsOf(project({ mutants }))).toEqual([
      'mutant twice: its line occurs 2 times in src/lamp.ts, must be once',
      'mutant never: its line occurs 0 times in src/lamp.ts, must be once',
      'mutant same changes nothing',
    ]);
  });

  test('wants a passed test in the results, not only a title', () => {
    const root = project({});
    const results = join(root, 'results.json');
    const report = (status: string) =>
      JSON.stringify({ testResults: [{ assertionResults: [{ fullName: '[LMP-1] is dark', status }] }] });
    writeFileSync(results, report('passed'));
    expect(unprovenClauses(checkContract(root).rows, results)).toEqual([]);
    writeFileSync(results, report('skipped'));
    expect(unprovenClauses(checkContract(root).rows, results)).toEqual([
      'LMP-1 is required and no test that names it passed',
    ]);
  });
});

// Each mutant is a process: minutes are allowed, seconds are usual.
describe('living mutants', { timeout: 300_000 }, () => {
  const run = async (root: string, mutants: readonly Mutant[]) => {
    const cached: boolean[] = [];
    const verdicts = await runMutants(mutants, {
      root,
      cacheFolder: join(root, 'cache'),
      jobs: 2,
      onVerdict: (_verdict, known) => cached.push(known),
    });
    return { cached, outcomes: Object.fromEntries(verdicts.map((verdict) => [verdict.id, verdict.outcome])) };
  };

  test('are killed only by a red test that names their clause; typing errors and red specs prove nothing', async () => {
    const spec = `${LAMP_TEST}test('[LMP-3] is red anyway', () => expect(1).toBe(2));\n`;
    const mutants: Mutant[] = [
      alwaysOn,
      { ...alwaysOn, id: 'harmless', find: 'volts > 200', replace: 'volts > 100' },
      { ...alwaysOn, id: 'half-noticed', clauses: ['LMP-1', 'LMP-2'] },
      { ...alwaysOn, id: 'unparsable', replace: 'if (!on' },
      { ...alwaysOn, id: 'misspelt', replace: 'if (!no)' },
      { ...alwaysOn, id: 'red-anyway', clauses: ['LMP-3'] },
      { ...alwaysOn, id: 'untested', clauses: ['LMP-4'] },
    ];
    const root = project({ spec, mutants });
    const first = await run(root, mutants);
    expect(first.outcomes).toEqual({
      'always-on': 'killed',
      harmless: 'survived',
      'half-noticed': 'survived',
      unparsable: 'invalid',
      misspelt: 'invalid',
      'red-anyway': 'invalid',
      untested: 'invalid',
    });
    expect(readFileSync(join(root, 'src/lamp.ts'), 'utf8')).toBe(LAMP);
    expect((await run(root, [alwaysOn])).cached).toEqual([true]);
    writeFileSync(join(root, 'src/lamp.ts'), `${LAMP}\n`);
    expect((await run(root, [alwaysOn])).cached).toEqual([false]);
  });

  test('make the command fail when one survives', async () => {
    const clauses = [clause('LMP-1', 'required')];
    const spec = LAMP_TEST.replace('[LMP-2] ', '');
    const root = project({ clauses, spec, mutants: [{ ...alwaysOn, replace: 'if (!on && true)' }] });
    const command = ['scripts/contract/main.ts', '--root', root, '--mutants', '--json'];
    const failure = await promisify(execFile)('node_modules/.bin/jiti', command, { cwd: ROOT }).catch(
      (e) => e,
    );
    expect(failure.code).toBe(1);
    expect(failure.stderr).toContain('mutant always-on survived: no test of LMP-1 turned red');
    expect(JSON.parse(failure.stdout.trim().split('\n').at(-1))).toEqual({
      clauses: [
        {
          id: 'LMP-1',
          state: 'required',
          tests: ['test/lamp.test.ts: [LMP-1] is dark when off'],
          mutants: ['always-on'],
        },
      ],
    });
  });
});
