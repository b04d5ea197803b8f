import type { CleanRequest } from './clean-requests.js';
import { Counts, type FuzzOptions, type FuzzReport, fuzz } from './fuzz-run.js';
import { type FuzzServer, startFuzzServer } from './fuzz-server.js';
import type { WireAnswer } from './http-answers.js';
import { serialize } from './http-request.js';
import { judgeAnswers, judgeClean, judgeCopies, StoreAudit } from './ingress-oracle.js';
import { ProcessWatch } from './process-watch.js';
import { describeScript, piecesOf, type Script, script } from './scripts.js';
import { exchange } from './wire-client.js';

const AUDIT_EVERY = 50;

/**
 * Raw bytes over TCP to a listening ingress over a real store. Whatever they are: the process lives, every answer is
 * HTTP, what is stored is whole and was acknowledged, and a good request afterwards is accepted.
 */
export async function fuzzIngress(options: FuzzOptions): Promise<FuzzReport> {
  const counts = new Counts();
  const watch = new ProcessWatch();
  let bench = await Bench.start(counts, watch);
  try {
    const attempt = async (drawn: Script): Promise<void> => {
      try {
        await bench.attempt(drawn);
      } catch (error) {
        // What it left behind must not count against the next one.
        await bench.close();
        bench = await Bench.start(counts, watch);
        throw error;
      }
    };
    const result = await fuzz(options, script, attempt, (drawn) => describeScript(drawn, 'd'));
    if (result.failure === null) await bench.audit();
    return { ...result, counts: counts.toRecord() };
  } finally {
    await bench.close();
    watch.close();
  }
}

class Bench {
  readonly #counts: Counts;
  readonly #watch: ProcessWatch;
  readonly #server: FuzzServer;
  readonly #audit: StoreAudit;
  #attempts = 0;

  private constructor(counts: Counts, watch: ProcessWatch, server: FuzzServer) {
    this.#counts = counts;
    this.#watch = watch;
    this.#server = server;
    this.#audit = new StoreAudit(server);
  }

  static async start(counts: Counts, watch: ProcessWatch): Promise<Bench> {
    return new Bench(counts, watch, await startFuzzServer());
  }

  async attempt(drawn: Script): Promise<void> {
    const name = `d${++this.#attempts}`;
    const pieces = piecesOf(drawn, name);
    const bytes = pieces.join('');
    const connections = Array.from({ length: drawn.copies }, () =>
      exchange(this.#server.url, pieces, drawn.pauseMs, drawn.ending),
    );
    const heard = (await Promise.all(connections)).map((one) => ({
      ...one,
      answers: judgeAnswers(one, bytes),
    }));
    for (const { answers, orderly } of heard) {
      this.#count(drawn, bytes, answers);
      if (orderly) judgeClean(drawn, answers);
      else if (drawn.ending === 'half close') this.#counts.add('connections: torn by the server');
    }
    const answers = heard.map((one) => one.answers);
    judgeCopies(drawn, answers);
    const untold = heard.reduce((sum, one) => sum + untoldOf(drawn, one.answers, one.orderly), 0);
    await this.#audit.judge(answers.flat(), untold);
    await this.#accepts(`${name}-good`);
    await this.#watch.settle();
    const [error] = this.#server.logged();
    if (error !== undefined) throw new Error(`logged: ${error}`);
    if (this.#attempts % AUDIT_EVERY === 0) await this.audit();
  }

  async audit(): Promise<void> {
    this.#audit.judgeWhole();
  }

  close(): Promise<void> {
    return this.#server.close();
  }

  #count({ requests, ending, clean }: Script, bytes: string, answers: readonly WireAnswer[]): void {
    this.#counts.add('connections');
    this.#counts.add(`connections: ${clean === null ? ending : 'in order'}`);
    this.#counts.add('requests', requests.length);
    this.#counts.add('bytes', bytes.length);
    for (const { status } of answers) this.#counts.add(`answers: ${status}`);
  }

  async #accepts(name: string): Promise<void> {
    const heard = await exchange(this.#server.url, [serialize(GOOD, name)], 0, 'half close');
    const answers = judgeAnswers(heard, '');
    const [status] = answers.map((answer) => answer.status);
    if (answers.length !== 1 || status !== GOOD.status)
      throw new Error(`a good request was answered ${status}`);
    await this.#audit.judge(answers, 0);
    this.#counts.add('good requests afterwards');
  }
}

/** What is in order is answered, or not looked at. */
function untoldOf(
  { clean, tail, requests }: Script,
  answers: readonly WireAnswer[],
  orderly: boolean,
): number {
  if (!orderly) return requests.length;
  return clean !== null && tail === '' ? 0 : Math.max(0, requests.length - answers.length);
}

const GOOD: CleanRequest = {
  method: 'POST',
  target: '/in/acme/code/push',
  version: 'HTTP/1.1',
  headers: ['Host: test'],
  body: '{"repository":"acme/site"}',
  signature: 'good',
  delivery: 0,
  framing: { kind: 'length', off: 0 },
  lineEnd: '\r\n',
  status: 202,
};
