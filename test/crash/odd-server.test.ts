import { expect, test } from 'vitest';
import { expectKept, ROUNDS, SEED, TIMEOUT_MS } from './expect-kept.js';
import { oddServer, smallPacket } from './odd-server.js';

test(
  '[ADM-1, EXE-1] MariaDB with wait_timeout=2, ANSI_QUOTES, another time zone, innodb_snapshot_isolation: everything works as ever',
  async () => {
    const report = await oddServer({ rounds: ROUNDS ?? 2, seed: SEED });
    expectKept('odd server', report);
    expect(report.counts.refused).toBe(report.counts.reasons.overloaded ?? 0);
    expect(report.expiredLeases).toBe(0);
  },
  TIMEOUT_MS,
);

test(
  '[ADM-1, ADM-3] MariaDB with a small max_allowed_packet: groups are divided, and a body longer than a packet is answered 413 and harms nobody beside it',
  async () => {
    const report = await smallPacket({ rounds: ROUNDS ?? 2, seed: SEED });
    expectKept('small packet', report);
    expect(report.faults).toEqual({ 'body longer than a packet: 413': report.rounds });
    expect(report.counts.refused).toBe(report.counts.reasons.overloaded ?? 0);
  },
  TIMEOUT_MS,
);
