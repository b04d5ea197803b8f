import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const RECEIVE_BYTES = 4_096;

export interface HttpAnswer {
  readonly status: number;
  /** Of a 503; else 0. */
  readonly retryAfterSeconds: number;
}

/**
 * One keep-alive connection with one request under way. Reads answers that announce their length, which is what both
 * servers send; cheap, because the generator shares the machine with what it measures.
 */
export class LoadConnection {
  #socket: Socket | null = null;
  #received: Buffer = Buffer.alloc(0);
  #settle: ((answer: HttpAnswer | Error) => void) | null = null;

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

  /** False once the server closed it, as it does with those that stay idle. */
  get isOpen(): boolean {
    return this.#socket!.writable && this.#socket!.readable;
  }

  /** Resolves once all of the answer is here. */
  send(request: Buffer): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) return reject(new Error('the server has closed the connection'));
      this.#settle = (answer) => {
        this.#settle = null;
        if (answer instanceof Error) reject(answer);
        else resolve(answer);
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
    const status = Number(head.slice(9, 12));
    const retryAfterSeconds = status === 503 ? Number(/retry-after: (\d+)/i.exec(head)?.[1]) : 0;
    this.#settle?.({ status, retryAfterSeconds });
    return true;
  }
}
