import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { ROOT } from '../house/sources.js';
import { runNode, SLOW, temporaryFolder } from './processes.js';

/** What `npm run demo` does once it has built. */
function demo(...args: string[]) {
  const folder = temporaryFolder();
  const jiti = join(ROOT, 'node_modules/jiti/lib/jiti-cli.mjs');
  const environment = { TMPDIR: folder, JITI_TRY_NATIVE: '1' };
  return {
    folder,
    running: runNode([jiti, join(ROOT, 'scripts/demo/main.ts'), ...args], { folder: ROOT, environment }),
  };
}

describe('the demo', SLOW, () => {
  test('sends real webhooks, some twice, completes each once, in order, and leaves nothing behind', async () => {
    const { folder, running } = demo('--json');
    const { code, stdout, stderr } = await running.ended;
    expect([code, stderr]).toEqual([0, '']);
    const result = JSON.parse(stdout) as Record<string, number>;
    expect(result).toMatchObject({ dead: 0, orderViolations: 0 });
    expect(result.accepted).toBeGreaterThan(600);
    expect(result.duplicates).toBeGreaterThan(100);
    expect(result.sent).toBe(result.accepted! + result.duplicates!);
    expect(result.events).toBe(result.accepted);
    expect(result.completed).toBe(result.events);
    // Retries were part of it.
    expect(result.starts).toBeGreaterThan(result.events!);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('leaves nothing behind after Ctrl-C', async () => {
    const { folder, running } = demo();
    await running.until(({ stdout }) => stdout.includes('sending '));
    expect(readdirSync(folder).filter((name) => name.startsWith('lanehead-demo-'))).toHaveLength(1);
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(130);
    expect(readdirSync(folder)).toEqual([]);
  });
});
