import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const RECEIVE_BYTES = 4_096;

/**
 * One keep-alive connection with one request under way. Reads answers that announce their length, which is what both
 * servers send; cheap, because the generator shares the machine with what it measures.
 */
export class LoadConnection {
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #settle: ((status: number | Error) => void) | null = null;

  static async open(port: number): Promise<LoadConnection> {
    const connection = new LoadConnection();
    const socket = connect({
      host: '127.0.0.1',
      port,
      noDelay: true,
      onread: {
        buffer: Buffer.alloc(RECEIVE_BYTES),
        callback: (count, buffer) => connection.#hear(Buffer.from(buffer.subarray(0, count))),
      },
    });
    connection.#socket = socket;
    await once(socket, 'connect');
    socket.on('error', (error) => connection.#settle?.(error));
    socket.on('close', () => connection.#settle?.(new Error('the server closed the connection')));
    return connection;
  }

  /** Resolves with the status of the answer, once all of it is here. */
  send(request: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#settle = (status) => {
        this.#settle = null;
        if (typeof status === 'number') resolve(status);
        else reject(status);
      };
      this.#socket!.write(request);
    });
  }

  close(): void {
    this.#socket?.destroy();
  }

  #hear(chunk: Buffer): boolean {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headBytes = this.#received.indexOf(HEAD_END);
    if (headBytes < 0) return true;
    const head = this.#received.toString('latin1', 0, headBytes);
    const bodyBytes = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (Number.isNaN(bodyBytes)) this.#settle?.(new Error(`an answer without content-length:\n${head}`));
    if (this.#received.length < headBytes + HEAD_END.length + bodyBytes) return true;
    this.#received = Buffer.alloc(0);
    this.#settle?.(Number(head.slice(9, 12)));
    return true;
  }
}
