/**
 * A network between a process and its MySQL server that does what networks do.
 *
 *   process ──▶ link ──▶ server       a link for each connection; faults strike all links, or the next that qualifies
 *
 * It understands no more of the protocol than where packets begin and which of them says COMMIT.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Faults that wait for their moment on any link. */
export type ArmedFault =
  /** COMMIT reaches the server, which answers; the answer does not come back, and the connection ends. */
  | 'answer of COMMIT lost'
  /** COMMIT is sent and never arrives; the connection ends. */
  | 'COMMIT lost'
  /** The connection ends in the middle of a packet, on its way to the server or back. */
  | 'cut in a request'
  | 'cut in a reply';

const HEADER_BYTES = 4;
const COM_QUERY = 3;

export class TcpProxy {
  /** How long each chunk is held, in both directions. */
  delayMs = 0;
  readonly #armed = new Map<ArmedFault, number>();
  readonly #links = new Set<Link>();
  readonly #server: Server;
  #partitioned = false;

  private constructor(port: number) {
    this.#server = createServer((socket) => {
      const link = new Link(socket, connect(port, '127.0.0.1'), this);
      this.#links.add(link);
      if (this.#partitioned) link.silence();
      link.onClose = () => this.#links.delete(link);
    });
  }

  static async to(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  /** `url` by way of this proxy. */
  via(url: string): string {
    const other = new URL(url);
    other.port = String((this.#server.address() as AddressInfo).port);
    return other.href;
  }

  /** The next `times` moments of its kind. */
  arm(fault: ArmedFault, times: number): void {
    this.#armed.set(fault, (this.#armed.get(fault) ?? 0) + times);
  }

  isArmed(fault: ArmedFault): boolean {
    return (this.#armed.get(fault) ?? 0) > 0;
  }

  /** True: this is such a moment, and it is used up. */
  strikes(fault: ArmedFault): boolean {
    if (!this.isArmed(fault)) return false;
    this.#armed.set(fault, this.#armed.get(fault)! - 1);
    return true;
  }

  /** Resets every connection. @returns how many */
  cut(): number {
    const links = [...this.#links];
    for (const link of links) link.cut();
    return links.length;
  }

  /** Half open: every connection there is swallows what it is given and says nothing, for ever. @returns how many */
  silence(): number {
    for (const link of this.#links) link.silence();
    return this.#links.size;
  }

  /** As `silence`, and so does every new connection until it is over. */
  partition(on: boolean): void {
    this.#partitioned = on;
    if (on) this.silence();
  }

  async close(): Promise<void> {
    this.#server.close();
    this.cut();
    await once(this.#server, 'close');
  }
}

class Link {
  onClose: () => void = () => undefined;
  readonly #client: Socket;
  readonly #upstream: Socket;
  readonly #proxy: TcpProxy;
  readonly #packets = new PacketReader();
  #silent = false;
  #awaitsLostAnswer = false;

  constructor(client: Socket, upstream: Socket, proxy: TcpProxy) {
    this.#client = client;
    this.#upstream = upstream;
    this.#proxy = proxy;
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => this.#ended());
    }
    relay(client, proxy, (chunk) => this.#toServer(chunk));
    relay(upstream, proxy, (chunk) => this.#toClient(chunk));
  }

  cut(): void {
    this.#client.resetAndDestroy();
    this.#upstream.resetAndDestroy();
  }

  silence(): void {
    this.#silent = true;
  }

  /** The end of one side is news to the other, unless the link is silent: then each finds out by itself. */
  #ended(): void {
    if (!this.#silent) this.#client.destroy();
    if (!this.#silent) this.#upstream.destroy();
    if (this.#client.destroyed && this.#upstream.destroyed) this.onClose();
  }

  #toServer(chunk: Buffer): void {
    if (this.#silent) return;
    const commits = this.#packets.read(chunk).some(isCommit);
    if (commits && this.#proxy.strikes('answer of COMMIT lost')) this.#awaitsLostAnswer = true;
    if (commits && this.#proxy.strikes('COMMIT lost')) this.cut();
    // Never inside a COMMIT: what is cut here was not committed.
    else if (!commits && this.#cuts('cut in a request', chunk)) this.#cutInside(this.#upstream, chunk);
    else this.#upstream.write(chunk);
  }

  #toClient(chunk: Buffer): void {
    if (this.#silent) return;
    if (this.#awaitsLostAnswer) this.cut();
    else if (this.#cuts('cut in a reply', chunk)) this.#cutInside(this.#client, chunk);
    else this.#client.write(chunk);
  }

  #cuts(fault: ArmedFault, chunk: Buffer): boolean {
    return chunk.length > HEADER_BYTES && this.#proxy.strikes(fault);
  }

  #cutInside(to: Socket, chunk: Buffer): void {
    to.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => this.cut());
  }
}

/** Hands chunks on in order, each held for as long as the network says when it comes. */
function relay(from: Socket, proxy: TcpProxy, handOn: (chunk: Buffer) => void): void {
  let before: Promise<unknown> = Promise.resolve();
  from.on('data', (chunk: Buffer) => {
    const { delayMs } = proxy;
    const held = delayMs > 0 ? new Promise((resolve) => setTimeout(resolve, delayMs)) : undefined;
    before = before.then(() => held).then(() => handOn(chunk));
  });
}

/** Cuts a stream into packets: three bytes of length, one of sequence, and the payload. */
class PacketReader {
  #rest = Buffer.alloc(0);

  /** Payloads that are whole now. */
  read(chunk: Buffer): readonly Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    const payloads: Buffer[] = [];
    while (this.#rest.length >= HEADER_BYTES) {
      const end = HEADER_BYTES + this.#rest.readUIntLE(0, 3);
      if (this.#rest.length < end) break;
      payloads.push(this.#rest.subarray(HEADER_BYTES, end));
      this.#rest = this.#rest.subarray(end);
    }
    return payloads;
  }
}

const isCommit = (payload: Buffer): boolean =>
  payload[0] === COM_QUERY && payload.toString('latin1', 1) === 'COMMIT';
