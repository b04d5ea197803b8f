import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

/**
 * What to do with a command of the client that contains a text.
 * - `cut`: the server never sees it; the connection breaks.
 * - `cut-after-reply`: the server executes it; its answer is lost with the connection.
 * - `freeze`: nothing is relayed any more in either direction; both sides stay open, as after a pulled cable.
 * - a text: sent in its place, filled up with spaces.
 */
export type Trick = 'cut' | 'cut-after-reply' | 'freeze' | { readonly replaceBy: string };

export interface TcpProxy {
  /** The server's URL by way of the proxy. */
  readonly url: string;
  /** Plays `trick` on the next `times` commands that contain `text`. Default: one. */
  on(text: string, trick: Trick, times?: number): void;
  /** Ends every connection in an orderly way; resolves when the clients have noticed. */
  endAll(): Promise<void>;
  /** How many connections were made so far. */
  readonly connections: number;
}

interface Rule {
  readonly text: string;
  readonly trick: Trick;
  times: number;
}

/** Relays MySQL connections. Clients send one command at a time, so a chunk from the client is one command. */
export async function startProxy(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  const clients = new Set<Socket>();
  const rules: Rule[] = [];
  let connections = 0;
  const server = createServer((client) => {
    connections++;
    const upstream = connect(Number(port), hostname);
    relay(client, upstream, rules);
    clients.add(client);
    client.on('close', () => clients.delete(client));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
    await once(server, 'close');
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = new URL(target);
  url.port = String(address.port);
  return {
    url: url.href,
    on: (text, trick, times = 1) => rules.push({ text, trick, times }),
    async endAll() {
      await Promise.all([...clients].map((client) => Promise.all([once(client, 'close'), client.end()])));
    },
    get connections() {
      return connections;
    },
  };
}

function relay(client: Socket, upstream: Socket, rules: Rule[]): void {
  let frozen = false;
  let cutAfterReply = false;
  const cut = () => {
    client.destroy();
    upstream.destroy();
  };
  client.on('data', (chunk) => {
    const rule = rules.find(({ text, times }) => times > 0 && chunk.includes(text));
    if (rule) rule.times--;
    if (rule?.trick === 'freeze') frozen = true;
    if (frozen) return;
    if (rule?.trick === 'cut') return cut();
    cutAfterReply ||= rule?.trick === 'cut-after-reply';
    upstream.write(
      typeof rule?.trick === 'object' ? replaced(chunk, rule.text, rule.trick.replaceBy) : chunk,
    );
  });
  upstream.on('data', (chunk) => {
    if (cutAfterReply) cut();
    else if (!frozen) client.write(chunk);
  });
  client.on('close', () => upstream.destroy());
  upstream.on('close', () => {
    if (!frozen) client.destroy();
  });
}

/** The command from `text` on is written over, so that the packet's length stays. */
function replaced(chunk: Buffer, text: string, by: string): Buffer {
  const at = chunk.indexOf(text);
  return Buffer.concat([chunk.subarray(0, at), Buffer.from(by.padEnd(chunk.length - at))]);
}
