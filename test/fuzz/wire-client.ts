import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Exchange {
  readonly received: string;
  /** The server closed the connection and nothing was torn. */
  readonly orderly: boolean;
}

const HANG_MS = 20_000;

/**
 * Sends the pieces and hears the server out, unless the script leaves early.
 * @throws when the server neither answers nor closes after the client has closed its side.
 */
export function exchange(
  url: string,
  pieces: readonly string[],
  pauseMs: number,
  ending: 'half close' | 'leave' | 'reset',
): Promise<Exchange> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let received = '';
    let torn = false;
    const hang = setTimeout(() => {
      reject(new Error('the server did not close the connection'));
      socket.destroy();
    }, HANG_MS);
    socket.on('data', (data: Buffer) => {
      received += data.toString('latin1');
    });
    socket.on('error', () => {
      torn = true;
    });
    socket.on('close', () => {
      clearTimeout(hang);
      resolve({ received, orderly: !torn && ending === 'half close' });
    });
    socket.on('connect', () => void send());

    async function send(): Promise<void> {
      for (const piece of pieces) {
        if (socket.destroyed) return;
        socket.write(Buffer.from(piece, 'latin1'));
        await sleep(pauseMs);
      }
      if (ending === 'half close') socket.end();
      else if (ending === 'reset') socket.resetAndDestroy();
      else socket.destroy();
    }
  });
}
