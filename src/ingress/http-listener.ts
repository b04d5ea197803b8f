import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { ReadBody } from './admission.js';
import type { ConnectionGuard } from './connection-guard.js';
import { readBody } from './read-body.js';
import type { RequestDecider } from './request-decider.js';
import { headOf } from './request-head.js';

export interface HttpLimits {
  /** Bytes of the request line and all headers together. Default 16,384; over it 431. */
  readonly headerBytes: number;
  /** From the first byte to the last header. Default 10,000; over it 408. */
  readonly headersTimeoutMs: number;
  /** From the first byte to the last of the body. Default 30,000; over it 408. */
  readonly requestTimeoutMs: number;
  /** How often the two are looked at. Default 1,000. */
  readonly timeoutCheckMs: number;
  /** How long an idle connection is kept; above the usual 60 s of load balancers. Default 72,000. */
  readonly keepAliveMs: number;
}

export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headerBytes: 16_384,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  timeoutCheckMs: 1_000,
  keepAliveMs: 72_000,
};

export interface HttpListenerOptions {
  readonly limits: HttpLimits;
  readonly guard: ConnectionGuard;
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is believed. Empty: nobody's. */
  readonly trustProxy: readonly string[];
  readonly isDraining: () => boolean;
  readonly decider: RequestDecider;
}

/**
 * The TCP side. Every request is decided in `onRequest`, before fastify looks at its body: fastify would refuse media
 * types it cannot parse, and it would read (and copy) a body before the bounds are checked.
 */
export function httpListener(options: HttpListenerOptions): FastifyInstance {
  const serve = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack();
    answerRequest(request, reply.raw, options).catch(() => reply.raw.destroy());
  };
  const app = fastify({
    logger: false,
    serverFactory: (handler) => hardenedServer(handler, options),
    clientErrorHandler: (error, socket) => options.guard.onClientError(error, socket),
    // A path that cannot be decoded names no route; it takes the same way to its 404.
    frameworkErrors: (_error, request, reply) => serve(request, reply),
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    return503OnClosing: false,
    routerOptions: { querystringParser: () => NO_QUERY, maxParamLength: options.limits.headerBytes },
  });
  app.all('/*', { onRequest: (request, reply) => serve(request, reply) }, () => undefined);
  app.setNotFoundHandler(serve);
  return app;
}

/** The query is read from the target where a scheme asks for it; nothing here does. */
const NO_QUERY = Object.freeze({});

const CONTINUES = new WeakSet<ServerResponse>();

function hardenedServer(handler: RequestListener, { guard, limits }: HttpListenerOptions): Server {
  const tracked: RequestListener = (request, response) => {
    if (guard.admits(request, response)) handler(request, response);
  };
  const server = createServer(
    {
      maxHeaderSize: limits.headerBytes,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: limits.timeoutCheckMs,
      keepAliveTimeout: limits.keepAliveMs,
      // Node's own refusal of a missing Host has no body; `headOf` makes the same one as for two of them.
      requireHostHeader: false,
    },
    tracked,
  );
  // A client that closes its side behind its request still waits for the answer; by default Node closes the other.
  Object.assign(server, { httpAllowHalfOpen: true });
  // Bounded by `headerBytes` already. Node would drop headers beyond a count, a second Host among them.
  server.maxHeadersCount = 0;
  server.on('checkContinue', (request, response) => {
    CONTINUES.add(response);
    tracked(request, response);
  });
  server.on('checkExpectation', tracked);
  return server;
}

/** Behind an answer that is still owed Node would write it between the head and the body of the next one. */
function sendContinue(response: ServerResponse): void {
  if (response.socket !== null) response.writeContinue();
  else response.once('socket', () => response.headersSent || response.writeContinue());
}

async function answerRequest(
  request: FastifyRequest,
  response: ServerResponse,
  { guard, decider, isDraining }: HttpListenerOptions,
): Promise<void> {
  const message = request.raw;
  const client = (): string => request.ip;
  const head = headOf(message, client);
  const read: ReadBody = (limitBytes, grow) => {
    if (CONTINUES.has(response)) sendContinue(response);
    return readBody(message, limitBytes, grow);
  };
  const verdict = await decider.decide(head, read);
  // The parser has refused the same request by itself, and counted it.
  if (guard.hasRefused(message.socket)) return;
  decider.record(verdict, client);
  if (verdict === 'truncated') return;
  guard.send(response, verdict.answer, head?.bodyBytes ?? null, head === null || isDraining());
}
