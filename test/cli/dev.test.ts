import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SLOW, STEERED, start, temporaryFolder } from './processes.js';

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

describe('lanehead dev', SLOW, () => {
  test('serves in namespace dev, starts again on a change, waits while the pack is broken, ends on SIGINT', async () => {
    const folder = temporaryFolder();
    const pack = join(folder, 'pack.ts');
    const text = readFileSync(STEERED, 'utf8');
    writeFileSync(pack, text);
    const around = { folder, environment: { STEER_FOLDER: folder } };
    const running = start(['dev', 'pack.ts', '--port', '0', '--admin-port', '0'], around);
    const untilListening = (count: number) =>
      running.until(({ stdout }) => occurrences(stdout, '/in/dev/steered/events\n') === count);

    await untilListening(1);
    const [url] = running.stdout.match(/http:\/\/\S+\/in\/dev\/steered\/events/)!;
    expect(existsSync(join(folder, 'lanehead-dev.db'))).toBe(true);
    await running.until(({ stderr }) => /^\d\d:\d\d:\d\d INFO {2}workers started pack=steered/m.test(stderr));

    writeFileSync(pack, text.replace("'known to the test'", "'another secret'"));
    await untilListening(2);
    // The same address, and the new secret: what was signed with the old one is refused.
    expect(occurrences(running.stdout, url!)).toBe(2);
    expect((await fetch(url!, { method: 'POST', body: '{}' })).status).toBe(401);

    writeFileSync(pack, 'export default {');
    await running.until(({ stderr }) => stderr.includes('waiting for a change'));
    expect(running.stderr).toContain('lanehead: invalid_pack: pack.ts: ');

    writeFileSync(pack, text);
    await untilListening(3);
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(0);
  });
});
