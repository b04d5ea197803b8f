/**
 * Senders that do not stop while the packs of a running system change, and what is left to judge: every flow writes
 * down that it ran, and under which version of its pack.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { sign } from '@octokit/webhooks-methods';
import { definePack, type Lanehead, signatures } from '../../dist/index.js';
import { type CrashDatabase, itemRows, transitionRows } from './crash-database.js';
import type { RunRecord, SentItem, Violation } from './history.js';
import { checkHistory } from './history-checker.js';

const SECRET = 'a secret of the load';
const FLOW_MS = 2;
const AGAIN_MS = 3;

interface Sent extends SentItem {
  readonly receipts: string[];
}

export class Load {
  /** Of answers, by status. */
  readonly answers = new Map<number, number>();
  readonly runs: RunRecord[] = [];
  /** Runs under an older version than the one that admitted their event. */
  readonly underOlder: string[] = [];
  readonly ranUnder = new Map<number, number>();
  readonly #sent: Sent[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  #enough = false;

  /** Version `n` of the pack, in `process`; its route has that version too. */
  pack(n: number, process: string) {
    return definePack({
      name: 'load',
      version: `${n}.0.0`,
      routes: {
        push: {
          version: n,
          verify: signatures.github({ secret: SECRET }),
          materialize: (receipt) => {
            const { source } = receipt.json() as { source: string };
            const payload = JSON.stringify({ source, admittedBy: n });
            const key = receipt.header('x-github-delivery')!;
            return { deliveries: [{ key, events: [{ type: 'push', sourceKey: source, payload }] }] };
          },
          flow: async (event, ctx) => {
            const { admittedBy } = event.json() as { admittedBy: number };
            const run = { item: `${event.deliveryKey}/${event.ordinal}`, epoch: ctx.epoch, process };
            if (admittedBy > n) this.underOlder.push(`${run.item} of version ${admittedBy} under ${n}`);
            this.ranUnder.set(n, (this.ranUnder.get(n) ?? 0) + 1);
            this.runs.push({ kind: 'started', ...run });
            await pause(FLOW_MS);
            this.runs.push({ kind: 'ended', how: 'finished', ...run });
          },
        },
      },
    });
  }

  /** Each source sends one delivery after the other, each until it is acknowledged, to whoever takes it. */
  send(takers: readonly Lanehead[], sources: number): void {
    const one = async (source: string): Promise<void> => {
      for (let n = 0; !this.#enough; n++) await this.#deliver(takers, source, n);
    };
    this.#sending = Promise.all(Array.from({ length: sources }, (_, n) => one(`source-${n}`)));
  }

  /** Resolves after so many more answers of this status. */
  async answered(status: number, more: number): Promise<void> {
    const until = (this.answers.get(status) ?? 0) + more;
    while ((this.answers.get(status) ?? 0) < until) await pause(1);
  }

  /** Resolves after so many more runs under this version. */
  async ran(version: number, more: number): Promise<void> {
    const until = (this.ranUnder.get(version) ?? 0) + more;
    while ((this.ranUnder.get(version) ?? 0) < until) await pause(1);
  }

  /** Senders finish the delivery they are at. @returns how many were acknowledged */
  async end(): Promise<number> {
    this.#enough = true;
    await this.#sending;
    return this.#sent.length;
  }

  async violations(database: CrashDatabase): Promise<readonly Violation[]> {
    const [stored, transitions] = [await itemRows(database), await transitionRows(database)];
    return checkHistory({ sent: this.#sent, stored, runs: this.runs, transitions }).slice(0, 20);
  }

  async #deliver(takers: readonly Lanehead[], source: string, n: number): Promise<void> {
    const delivery = `${source}-${n}`;
    const sent: Sent = { item: `${delivery}/0`, lane: source, sequence: n, receipts: [] };
    this.#sent.push(sent);
    const body = JSON.stringify({ source });
    const headers = { 'x-github-delivery': delivery, 'x-hub-signature-256': await sign(SECRET, body) };
    for (let attempt = 0; ; attempt++) {
      const taker = takers[(n + attempt) % takers.length]!;
      const request = new Request('http://localhost/in/acme/load/push', { method: 'POST', body, headers });
      const response = await taker.handle(request);
      this.answers.set(response.status, (this.answers.get(response.status) ?? 0) + 1);
      if (response.status === 202 || response.status === 200) {
        sent.receipts.push(((await response.json()) as { receipt: string }).receipt);
        return;
      }
      await pause(AGAIN_MS);
    }
  }
}
