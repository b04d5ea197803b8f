/**
 *   loading packs ──▶ starting ──▶ serving ──SIGTERM, SIGINT──▶ draining ──▶ exit 0
 *        └──signal──▶ exit 0   └──signal──▶ given up, closed ──▶ exit 0
 *
 * draining: not ready, then flows end or their work is released, then everything closes. A second signal exits at once.
 * An exception that nobody caught is a signal that ends with 1.
 */
import { DEFAULT_DATABASE_URL } from '../runtime/database-url.js';
import { createLanehead } from '../runtime/runtime.js';
import { readConfiguration, type ServeFlags } from './configuration.js';
import { jsonLog } from './log.js';
import { toJson } from './output.js';
import { packLoader } from './pack-loader.js';
import type { StopSignals } from './stop-signals.js';
import { containStrayErrors } from './stray-errors.js';
import type { Terminal } from './terminal.js';

export async function serve(
  terminal: Terminal,
  files: readonly string[],
  flags: ServeFlags & { readonly json?: boolean },
  signals: StopSignals,
): Promise<void> {
  const defaults = { databaseUrl: DEFAULT_DATABASE_URL, namespaces: [] };
  const { options, stopTimeoutMs, notices } = readConfiguration(flags, terminal.environment, defaults);
  // A pack that prints while it is loaded must not come before the line that a program waits for.
  if (flags.json) console.log = console.error;
  const logger = jsonLog();
  containStrayErrors(logger, signals);
  for (const notice of notices) logger.warn(notice);
  const packs = await Promise.race([packLoader().load(files), signals.first]);
  if (typeof packs === 'string') return endOf(signals);
  const lanehead = createLanehead({ ...options, packs, logger });
  const starting = lanehead.start();
  const started = await Promise.race([starting, signals.first]);
  if (typeof started === 'string') {
    starting.catch((error: unknown) => logger.warn({ err: error }, 'the start that was interrupted failed'));
  } else if (flags.json) {
    terminal.print(toJson({ event: 'listening', ...started, pid: process.pid }));
  } else {
    terminal.print(`listening on ${started.url}, health on ${started.adminUrl}`);
  }
  const signal = await signals.first;
  logger.info({ signal }, 'stopping');
  await lanehead.stop({ timeoutMs: stopTimeoutMs });
  logger.info('stopped');
  endOf(signals);
}

/** @throws the error that ended the process, if one did */
function endOf({ failure }: StopSignals): void {
  if (failure !== null) throw failure;
}
