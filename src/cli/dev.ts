/**
 *   loading packs ──▶ serving ──a pack file changed──▶ draining ──▶ loading packs
 *        └─failed─▶ waiting ──a pack file changed──────────────────────▲
 *
 * A signal ends it in every state, as it ends `serve`; an exception that nobody caught does too.
 */
import type { Logger } from 'pino';
import { isLaneheadError } from '../core/errors.js';
import { systemClock } from '../core/system.js';
import type { Pack } from '../packs/types.js';
import { createLanehead, type Lanehead, type Started } from '../runtime/runtime.js';
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
      const lanehead = await session.start();
      await Promise.race([changed, signals.first]);
      await lanehead?.stop({ timeoutMs: configuration.stopTimeoutMs });
    }
  } finally {
    watch.close();
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
  #options: Configuration['options'];

  constructor({ terminal, files, signals, log }: DevParts, configuration: Configuration) {
    this.#terminal = terminal;
    this.#files = files;
    this.#signals = signals;
    this.#options = configuration.options;
    this.#log = log;
    for (const notice of configuration.notices) this.#log.warn(notice);
  }

  /** `null`: the packs do not load, or a signal came first. */
  async start(): Promise<Lanehead | null> {
    const packs = await this.#load();
    if (packs === null) return null;
    const lanehead = createLanehead({ ...this.#options, packs, logger: this.#log });
    const started = await this.#started(lanehead);
    if (started === null) return null;
    const { url, adminUrl } = started;
    // A port that was chosen once is kept, so that senders find the next round too.
    this.#options = {
      ...this.#options,
      listen: { ...this.#options.listen, port: portOf(url!) },
      admin: { port: portOf(adminUrl!) },
    };
    this.#terminal.print(`listening on ${url}, health on ${adminUrl}, data in ${this.#options.databaseUrl}`);
    for (const path of this.#paths(packs)) this.#terminal.print(`  POST ${url}${path}`);
    return lanehead;
  }

  /** `null`: a signal came first, and ended the start. */
  async #started(lanehead: Lanehead): Promise<Started | null> {
    const starting = lanehead.start();
    const first = await Promise.race([starting, this.#signals.first]);
    if (typeof first !== 'string') return first;
    await Promise.all([starting.catch(() => undefined), lanehead.stop()]);
    return null;
  }

  async #load(): Promise<readonly Pack[] | null> {
    try {
      const packs = await Promise.race([this.#loader.load(this.#files), this.#signals.first]);
      return typeof packs === 'string' ? null : packs;
    } catch (error) {
      if (!isLaneheadError(error, 'invalid_pack')) throw error;
      this.#terminal.complain(renderFailure(failureOf(error), false));
      this.#terminal.complain('waiting for a change …');
      return null;
    }
  }

  #paths(packs: readonly Pack[]): string[] {
    return this.#options.namespaces.flatMap((namespace) =>
      packs.flatMap((pack) =>
        [...pack.routes.keys()].map((route) => `/in/${namespace}/${pack.name}/${route}`),
      ),
    );
  }
}

const portOf = (url: string): number => Number(new URL(url).port);
