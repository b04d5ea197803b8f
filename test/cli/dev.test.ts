import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SLOW, STEERED, send, start, temporaryFolder } from './processes.js';

const occurrences = (text: string, part: string): number => text.split(part).length - 1;

describe('lanehead dev', SLOW, () => {
  test('serves in namespace dev, takes a change without a stop, keeps what it served while the pack is broken, ends on SIGINT', async () => {
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

    expect(await send(url!, { id: 'w', type: 'wait', source: 'waits' })).toBe(202);
    const ledger = () =>
      existsSync(join(folder, 'ledger')) ? readFileSync(join(folder, 'ledger'), 'utf8') : '';
    await expect.poll(ledger, { timeout: 60_000 }).toContain('start w');

    writeFileSync(pack, text.replace("'known to the test'", "'another secret'"));
    await untilListening(2);
    // The same address, and the new secret: what was signed with the old one is refused. What ran goes on.
    expect(occurrences(running.stdout, url!)).toBe(2);
    expect(occurrences(running.stdout, 'listening on')).toBe(1);
    expect(await send(url!, { id: 'x', type: 'push', source: 'x' })).toBe(401);
    writeFileSync(join(folder, 'release'), '');
    await expect.poll(ledger, { timeout: 60_000 }).toContain('end w');

    writeFileSync(pack, 'export default {');
    await running.until(({ stderr }) => stderr.includes('waiting for a change'));
    expect(running.stderr).toContain('lanehead: invalid_pack: pack.ts: ');
    writeFileSync(pack, text.replace("'known to the test'", "''"));
    await running.until(({ stderr }) => occurrences(stderr, 'waiting for a change') === 2);
    expect(running.stderr).toContain('lanehead: invalid_configuration: ');
    expect(await send(url!, { id: 'x', type: 'push', source: 'x' })).toBe(401);

    writeFileSync(pack, text);
    await untilListening(3);
    expect(await send(url!, { id: 'x', type: 'push', source: 'x' })).toBe(202);
    await expect.poll(ledger, { timeout: 60_000 }).toContain('end x');
    running.child.kill('SIGINT');
    expect((await running.ended).code).toBe(0);
  });
});
