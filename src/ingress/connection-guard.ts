import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../core/clock.js';
import { type Answer, problem } from './answer.js';
import type { DecisionObserver, RefusalCode } from './decision.js';

/** How long a connection that is being refused is still listened to, so that its client can read the answer. */
const LINGER_MS = 1_000;
/** And how many bytes of the unread body are taken off it meanwhile. */
const LINGER_BYTES = 4 * 2 ** 20;
/** What a piece of it counts for at least: reading one of a single byte costs about as much as one of this size. */
const LINGER_PIECE_BYTES = 1_024;
/** An unread rest of this size is cheaper to read and drop than to pay for a new connection. */
const DROP_BYTES = 64 * 1024;

const BY_PARSER_CODE: Readonly<Record<string, RefusalCode>> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'payload_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/**
 * Keeps every answer on the request it belongs to, where Node leaves that to the application:
 * - an error of the HTTP parser is answered only when no earlier answer is owed on the connection: a client that
 *   sends a good request and then garbage must not read "400" for a receipt that was stored;
 * - a refusal whose body was not read never lets the rest of that body be taken for the next request;
 * - nothing behind a request that asks for an upgrade is taken for the next one.
 */
export class ConnectionGuard {
  readonly #clock: Clock;
  readonly #onDecision: DecisionObserver;
  /** The latest response of a connection; those before it are finished, or it is in `#pipelined`. */
  readonly #latest = new WeakMap<Socket, ServerResponse>();
  readonly #pipelined = new WeakSet<Socket>();
  readonly #refused = new WeakSet<Socket>();
  readonly #closing = new WeakSet<Socket>();

  constructor(clock: Clock, onDecision: DecisionObserver) {
    this.#clock = clock;
    this.#onDecision = onDecision;
  }

  /**
   * Call it for every request, before anything else. False: it came behind an answer that closes its connection, and
   * must not be looked at (RFC 9112 §9.6).
   */
  admits(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#closing.has(request.socket)) return false;
    const before = this.#latest.get(request.socket);
    if (before !== undefined && !before.writableFinished) this.#pipelined.add(request.socket);
    this.#latest.set(request.socket, response);
    // Where nobody upgrades, Node drops what came with such a request and takes what comes later for the next one.
    if (request.headers.upgrade !== undefined) this.#closing.add(request.socket);
    return true;
  }

  /** An error of the parser was answered here: the request it broke must not be answered, or counted, again. */
  hasRefused(socket: Socket): boolean {
    return this.#refused.has(socket);
  }

  /** For the server's `clientError`. */
  onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    if (this.#refused.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable || this.#owesAnswer(socket)) {
      socket.destroy();
      return;
    }
    const code = BY_PARSER_CODE[error.code ?? ''] ?? 'bad_request';
    this.#refused.add(socket);
    this.#onDecision(error.code === 'HPE_INVALID_EOF_STATE' ? 'truncated' : code);
    socket.end(rawResponse(problem(code)));
    const cancel = this.#clock.after(LINGER_MS, () => socket.destroy());
    socket.once('close', cancel);
  }

  /** True when bytes written now could be read as, or into, the answer to another request. */
  #owesAnswer(socket: Socket): boolean {
    const latest = this.#latest.get(socket);
    if (latest === undefined) return false;
    if (this.#pipelined.has(socket)) return true;
    return latest.req.complete ? !latest.writableFinished : latest.headersSent;
  }

  /**
   * Sends an answer. When the body was not received to its end, what is left of it is dropped, in bounds.
   * @param bodyBytes its announced length; `null`: unknown.
   */
  send(response: ServerResponse, answer: Answer, bodyBytes: number | null, close: boolean): void {
    const request = response.req;
    if (close || this.#closing.has(request.socket)) response.shouldKeepAlive = false;
    // A client that waits for `100 Continue` may or may not send its body after a refusal: nobody can tell what its
    // next bytes are.
    const droppable = bodyBytes !== null && bodyBytes <= DROP_BYTES && request.headers.expect === undefined;
    if (request.complete || (droppable && response.shouldKeepAlive)) {
      response.writeHead(answer.status, headersOf(answer)).end(answer.body);
      return;
    }
    this.#closing.add(request.socket);
    // The answer is complete for its reader before the connection is: closing a socket with unread bytes resets it,
    // and a reset can overtake the answer (RFC 9112 §9.6).
    response.writeHead(answer.status, { ...headersOf(answer), connection: 'close' });
    response.write(answer.body);
    this.#linger(request, () => response.end());
  }

  #linger(request: IncomingMessage, close: () => void): void {
    let dropped = 0;
    const done = (): void => {
      cancel();
      request.off('data', onData).off('end', done).off('close', done);
      close();
    };
    const onData = (chunk: Buffer): void => {
      dropped += Math.max(chunk.length, LINGER_PIECE_BYTES);
      if (dropped > LINGER_BYTES) done();
    };
    const cancel = this.#clock.after(LINGER_MS, done);
    request.on('error', () => {});
    request.on('data', onData).on('end', done).on('close', done);
    request.resume();
  }
}

export function headersOf(answer: Answer): Record<string, string | number> {
  return { 'content-type': answer.contentType, 'content-length': answer.body.length, ...answer.headers };
}

function rawResponse(answer: Answer): string {
  const headers = Object.entries({ ...headersOf(answer), connection: 'close' });
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  const start = `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`;
  return [start, ...lines, '', answer.body.toString('utf8')].join('\r\n');
}
