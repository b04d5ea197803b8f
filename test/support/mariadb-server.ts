/**
 * A private MariaDB: own data folder, own port on loopback, the durable settings the product asks for.
 *
 *   startMariadb ──▶ running ──kill()──▶ crashed (folder kept; start another on it) ──stop()──▶ gone
 *                       └────────────────────────stop()─────────────────────────────────────────▲
 *
 * The server is the child of a small shell that waits on a pipe from this process. When the pipe closes, by
 * `stop()` or because this process died in whatever way, the shell ends the server and removes its folder: no
 * run leaves anything behind, not even one that was killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MariadbBinaries, provideMariadb } from './mariadb-binary.js';

const START_TIMEOUT_MS = 60_000;
const START_ATTEMPTS = 5;
const GUARD = `
  folder=$1 installer=$2; shift 2
  [ "$(id -u)" != 0 ] || user=--user=root
  remove() { [ -z "$folder" ] || rm -rf "$folder"; }
  if [ -n "$folder" ]; then
    "$installer" --no-defaults --datadir="$folder" $user --auth-root-authentication-method=normal \\
      --skip-test-db --skip-name-resolve </dev/null >/dev/null || { remove; exit 1; }
  fi
  "$@" $user </dev/null >/dev/null &
  server=$!
  exec 2>/dev/null
  echo "$server"
  trap '' INT
  cat >/dev/null
  kill -KILL "$server"
  wait "$server"
  remove
`;

export interface MariadbOptions {
  /** Start on the folder of a server that was killed. Default: a new folder, removed by `stop()`. */
  readonly dataFolder?: string;
  /** Default: a free one. */
  readonly port?: number;
  /** More arguments of `mariadbd`, after (so over) the defaults. */
  readonly arguments?: readonly string[];
}

export interface MariadbServer {
  /** `mysql://root@127.0.0.1:<port>/`, without a database. */
  readonly url: string;
  /** Process id of `mariadbd` itself. */
  readonly pid: number;
  readonly port: number;
  readonly dataFolder: string;
  /** SIGKILL, and waits until it is gone: a power cut as far as the server can tell. Keeps the folder. */
  kill(): Promise<void>;
  /** Ends the server if it runs and removes the folder unless it was given. Twice is fine. */
  stop(): Promise<void>;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

function serverArguments(dataFolder: string, port: number): string[] {
  return [
    '--no-defaults',
    `--datadir=${dataFolder}`,
    // Its own: a server that starts removes the temporary tables it finds there, also those of another one.
    `--tmpdir=${dataFolder}`,
    `--socket=${join(dataFolder, 'server.sock')}`,
    `--pid-file=${join(dataFolder, 'server.pid')}`,
    `--port=${port}`,
    '--bind-address=127.0.0.1',
    '--skip-name-resolve',
    '--character-set-server=utf8mb4',
    '--innodb-flush-log-at-trx-commit=1',
    '--innodb-buffer-pool-size=256M',
    '--max-connections=300',
  ];
}

/** Resolves with the server's pid when it accepts connections; rejects with its log when it ended before. */
function untilReady(guard: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let pid = 0;
    let log = '';
    let waiting = true;
    const timer = setTimeout(() => fail('is not ready in time'), START_TIMEOUT_MS);
    const settle = (how: () => void) => {
      if (!waiting) return;
      waiting = false;
      clearTimeout(timer);
      how();
    };
    const fail = (why: string) =>
      settle(() => {
        guard.stdin?.end();
        reject(new Error(`mariadbd ${why}:\n${log}`));
      });
    guard.once('error', (error) => fail(error.message));
    guard.stderr?.once('close', () => fail('ended while starting'));
    const check = () => {
      if (pid > 0 && log.includes('ready for connections')) settle(() => resolve(pid));
    };
    guard.stdout?.on('data', (chunk) => {
      pid = Number(chunk);
      check();
    });
    guard.stderr?.on('data', (chunk) => {
      log = (log + chunk).slice(-4_000);
      check();
    });
  });
}

async function startOnce(binaries: MariadbBinaries, options: MariadbOptions): Promise<MariadbServer> {
  const port = options.port ?? (await freePort());
  const dataFolder = options.dataFolder ?? mkdtempSync(join(tmpdir(), 'lanehead-mariadb-'));
  const removed = options.dataFolder === undefined ? dataFolder : '';
  const command = [binaries.server, ...serverArguments(dataFolder, port), ...(options.arguments ?? [])];
  const guard = spawn('sh', ['-c', GUARD, 'sh', removed, binaries.installer, ...command], {
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const guardGone = once(guard, 'exit');
  const serverGone = once(guard.stderr, 'close');
  const pid = await untilReady(guard);
  const kill = async () => {
    process.kill(pid, 'SIGKILL');
    await serverGone;
  };
  const stop = async () => {
    guard.stdin.end();
    await guardGone;
  };
  return { url: `mysql://root@127.0.0.1:${port}/`, pid, port, dataFolder, kill, stop };
}

/** Starts a server and waits until it accepts connections: about two seconds with a new folder. */
export async function startMariadb(options: MariadbOptions = {}): Promise<MariadbServer> {
  const binaries = provideMariadb();
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(binaries, options);
    } catch (error) {
      // Another process may have taken the port in between: another one then, or the one asked for once it is free.
      if (attempt === START_ATTEMPTS) throw error;
    }
  }
}
