import { connect, type Socket } from 'node:net';

export interface RawResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** One TCP connection that speaks exactly the bytes it is given. */
export class RawConnection {
  readonly socket: Socket;
  #received = '';
  #ended = false;
  #wake: () => void = () => {};

  private constructor(socket: Socket) {
    this.socket = socket;
    const changed = (): void => this.#wake();
    socket.on('data', (chunk) => {
      this.#received += chunk.toString('latin1');
      changed();
    });
    for (const event of ['end', 'close', 'error']) {
      socket.on(event, () => {
        this.#ended = true;
        changed();
      });
    }
  }

  static open(url: string): Promise<RawConnection> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port) });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new RawConnection(socket));
      });
    });
  }

  send(text: string): this {
    this.socket.write(Buffer.from(text, 'latin1'));
    return this;
  }

  /** The next whole response; an interim `100` is one too. Rejects when the connection ends before. */
  async response(): Promise<RawResponse> {
    for (;;) {
      const parsed = parse(this.#received);
      if (parsed !== null) {
        this.#received = this.#received.slice(parsed.length);
        return parsed.response;
      }
      if (this.#ended) throw new Error(`the connection ended with ${JSON.stringify(this.#received)}`);
      await this.#changed();
    }
  }

  /** Resolves when the server has closed its side, with what it had sent and nobody has read. */
  async closed(): Promise<string> {
    while (!this.#ended) await this.#changed();
    return this.#received;
  }

  destroy(): void {
    this.socket.destroy();
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

function parse(text: string): { readonly response: RawResponse; readonly length: number } | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [start = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (text.length < length) return null;
  const status = Number(start.split(' ')[1]);
  return { response: { status, headers, body: text.slice(end + 4, length) }, length };
}
