/**
 *   loading packs ──▶ serving them ──a pack file changed──▶ loading packs
 *        └─failed─▶ what served before serves on ──a pack file changed──▲
 *
 * A signal ends it in every state, as it ends `serve`; an exception that nobody caught does too.
 */
import type { Logger } from 'pino';
import { isLaneheadError } from '../core/errors.js';
import { systemClock } from '../core/system.js';
import type { Pack } from '../packs/types.js';
import { createLanehead, type Lanehead } from '../runtime/runtime.js';
import { type Configuration, readConfiguration, type ServeFlags } from './configuration.js';
import { failureOf, renderFailure } from './failure.js';
import { watchFiles } from './file-watch.js';
import { readableLog } from './log.js';
import { DEV_DATABASE_URL } from './options.js';
import { type PackLoader, packLoader } from './pack-loader.js';
import type { StopSignals } from './stop-signals.js';
import { containStrayErrors } from './stray-errors.js';
import type { Terminal } from './terminal.js';

const DEFAULTS = { databaseUrl: DEV_DATABASE_URL, namespaces: ['dev'] };

export async function dev(
  terminal: Terminal,
  files: readonly string[],
  flags: ServeFlags,
  signals: StopSignals,
): Promise<void> {
  const configuration = readConfiguration(flags, terminal.environment, DEFAULTS);
  const log = readableLog((line) => terminal.complain(line));
  containStrayErrors(log, signals);
  const session = new DevSession({ terminal, files, signals, log }, configuration);
  const watch = watchFiles(files, systemClock);
  try {
    while (signals.received === null) {
      const changed = watch.next();
      await session.reload();
      await Promise.race([changed, signals.first]);
    }
  } finally {
    watch.close();
    await session.stop();
  }
  if (signals.failure !== null) throw signals.failure;
}

interface DevParts {
  readonly terminal: Terminal;
  readonly files: readonly string[];
  readonly signals: StopSignals;
  readonly log: Logger;
}

class DevSession {
  readonly #terminal: Terminal;
  readonly #files: readonly string[];
  readonly #signals: StopSignals;
  readonly #loader: PackLoader = packLoader();
  readonly #log: Logger;
  readonly #configuration: Configuration;
  #lanehead: Lanehead | null = null;
  #url: string | null = null;

  constructor({ terminal, files, signals, log }: DevParts, configuration: Configuration) {
    this.#terminal = terminal;
    this.#files = files;
    this.#signals = signals;
    this.#configuration = configuration;
    this.#log = log;
    for (const notice of configuration.notices) this.#log.warn(notice);
  }

  /** Serves the packs as they are now, or says what is wrong with them. A signal leaves it to `stop`. */
  async reload(): Promise<void> {
    const reloading = this.#reload();
    const first = await Promise.race([reloading, this.#signals.first]);
    if (typeof first === 'string') reloading.catch(() => undefined);
  }

  async stop(): Promise<void> {
    await this.#lanehead?.stop({ timeoutMs: this.#configuration.stopTimeoutMs });
  }

  async #reload(): Promise<void> {
    const packs = await this.#load();
    if (packs === null || this.#signals.received !== null) return;
    if (this.#lanehead === null) await this.#start(packs);
    else if (!(await this.#replace(this.#lanehead, packs))) return;
    for (const path of this.#paths(packs)) this.#terminal.print(`  POST ${this.#url}${path}`);
  }

  async #start(packs: readonly Pack[]): Promise<void> {
    const { options } = this.#configuration;
    this.#lanehead = createLanehead({ ...options, packs, logger: this.#log });
    const { url, adminUrl } = await this.#lanehead.start();
    this.#url = url;
    this.#terminal.print(`listening on ${url}, health on ${adminUrl}, data in ${options.databaseUrl}`);
  }

  /** False: nothing was changed. */
  async #replace(lanehead: Lanehead, packs: readonly Pack[]): Promise<boolean> {
    try {
      await lanehead.usePacks(packs);
      return true;
    } catch (error) {
      if (this.#signals.received === null) this.#complain(error);
      return false;
    }
  }

  /** `null`: they do not load. */
  async #load(): Promise<readonly Pack[] | null> {
    try {
      return await this.#loader.load(this.#files);
    } catch (error) {
      if (!isLaneheadError(error, 'invalid_pack')) throw error;
      this.#complain(error);
      return null;
    }
  }

  #complain(error: unknown): void {
    this.#terminal.complain(renderFailure(failureOf(error), false));
    this.#terminal.complain('waiting for a change …');
  }

  #paths(packs: readonly Pack[]): string[] {
    return this.#configuration.options.namespaces.flatMap((namespace) =>
      packs.flatMap((pack) =>
        [...pack.routes.keys()].map((route) => `/in/${namespace}/${pack.name}/${route}`),
      ),
    );
  }
}
