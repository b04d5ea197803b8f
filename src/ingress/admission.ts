import type { Clock } from '../core/clock.js';
import { isLaneheadError } from '../core/errors.js';
import type { NewId } from '../core/ids.js';
import type { WorkError } from '../core/outcome.js';
import { type AdmissionStage, type StageTimes, Stopwatch } from '../core/stopwatch.js';
import type { RequestTrace, Tracing } from '../core/tracing.js';
import { draftReceipt } from '../packs/draft-receipt.js';
import { unverifiedRequest, verifyRequest } from '../packs/receipt.js';
import type { HandshakeAnswer, Receipt } from '../packs/types.js';
import type { AdmissionControl, Passage, Shed } from './admission-control.js';
import { type Answer, acknowledgement, answer, overloaded, problem } from './answer.js';
import type { AdmissionDecision, RefusalCode, ShedReason } from './decision.js';
import type { Commitment, GroupCommit } from './group-commit.js';
import type { BodyReading } from './read-body.js';
import { pathOf, type RequestHead, routeNames } from './request-head.js';
import type { ResolvedRoute, ResolveRoute } from './route-table.js';

/** How a request ended, and what its sender is told. */
export interface Verdict {
  /** `null`: a probe of the process, no admission. */
  readonly decision: AdmissionDecision | null;
  readonly answer: Answer;
  /** Of a refusal for overload: what there was too much of. */
  readonly shed?: ShedReason;
  /** For the log alone: why a signature was refused. */
  readonly reason?: string;
  /** For the log alone: what it was about, where that is known. Nothing a sender wrote. */
  readonly about?: VerdictSubject;
  readonly timing?: Timing;
}

export interface Timing {
  readonly elapsedMs: number;
  readonly stages: StageTimes<AdmissionStage>;
}

export interface VerdictSubject {
  readonly namespace: string;
  readonly pack: string;
  readonly route: string;
  readonly receiptId?: string;
  /** Why the receipt is quarantined, as it is stored. */
  readonly error?: WorkError | null;
}

export interface AdmissionOptions {
  readonly resolve: ResolveRoute;
  readonly commits: GroupCommit;
  readonly control: AdmissionControl;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Body limit of routes that set none. */
  readonly maxBodyBytes: number;
  readonly isDraining: () => boolean;
  /** Default: nothing is traced. */
  readonly tracing?: Tracing | null;
}

/** Reads the body of the request at hand; called at most once, and only after everything else was decided. */
export type ReadBody = (limitBytes: number, grow: (bytes: number) => boolean) => Promise<BodyReading>;

/**
 * From a request to its answer, the same way for every transport:
 *
 *   draining ▸ route ▸ method ▸ retired, paused ▸ length ▸ encoding ▸ pressure ▸ read the body
 *            ▸ verify ▸ pressure again ▸ draft ▸ commit ▸ answer
 *
 * Everything before the reading costs no I/O and holds no memory, so that a refusal under overload is cheap.
 */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  async decide(head: RequestHead, readBody: ReadBody): Promise<Verdict | 'truncated'> {
    const names = routeNames(pathOf(head.target));
    const resolved = names && this.#options.resolve(...names);
    const stopwatch = new Stopwatch<AdmissionStage>(this.#options.clock);
    const trace = resolved && this.#trace(resolved, head);
    const way = { readBody, stopwatch, trace };
    const verdict = await this.#decide(head, resolved, way).catch((error: unknown) => {
      trace?.end('internal', refuse('internal').answer.status);
      throw error;
    });
    if (verdict === 'truncated') {
      trace?.end('truncated', CLIENT_CLOSED_REQUEST);
      return verdict;
    }
    trace?.end(verdict.decision!, verdict.answer.status);
    const { elapsedMs, times: stages } = stopwatch;
    return { ...(resolved && { about: subjectOf(resolved) }), ...verdict, timing: { elapsedMs, stages } };
  }

  #trace(resolved: ResolvedRoute, { method, headers }: RequestHead): RequestTrace | null {
    const header = (name: string) => headers.find(([key]) => key.toLowerCase() === name)?.[1];
    return this.#options.tracing?.request(subjectOf(resolved), method, header) ?? null;
  }

  async #decide(head: RequestHead, resolved: ResolvedRoute | null, way: Way): Promise<Verdict | 'truncated'> {
    const refusal = this.#refusalBeforeBody(head, resolved);
    if (refusal !== null || resolved === null) return refusal ?? refuse('unknown_route');
    const passage = this.#options.control.arrive(resolved, head);
    if ('shed' in passage) return shedVerdict(passage);
    try {
      const { handshakeBytes, grow } = passage;
      const body = await way.readBody(handshakeBytes ?? this.#limitOf(resolved), grow);
      way.stopwatch.lap('read');
      if (body === 'truncated') return body;
      if (body === 'fragmented') return refuse('body_fragmented');
      if (body === 'too_large' && handshakeBytes === null) return refuse('payload_too_large');
      if (typeof body === 'string') return shedVerdict(passage.outgrown());
      return await this.#admit(head, resolved, body, { ...way, passage });
    } finally {
      passage.release();
    }
  }

  #refusalBeforeBody(head: RequestHead, resolved: ResolvedRoute | null): Verdict | null {
    if (this.#options.isDraining()) return refuse('draining');
    if (resolved === null) return refuse('unknown_route');
    const methods = allowedMethods(resolved);
    if (!methods.includes(head.method)) return refuse('method_not_allowed', { allow: methods.join(', ') });
    if (resolved.installed.status === 'retired') return refuse('pack_retired');
    if (resolved.installed.status === 'paused') return refuse('paused');
    if (head.bodyBytes !== null && head.bodyBytes > this.#limitOf(resolved))
      return refuse('payload_too_large');
    // Nothing is ever decompressed: the bytes that were signed are the bytes that are kept.
    if (!isIdentity(head.contentEncoding)) return refuse('unsupported_encoding', ACCEPT_IDENTITY);
    return null;
  }

  #limitOf(resolved: ResolvedRoute): number {
    return resolved.route.maxBodyBytes ?? this.#options.maxBodyBytes;
  }

  async #admit(head: RequestHead, resolved: ResolvedRoute, body: Buffer, way: Admitted): Promise<Verdict> {
    const { installed, pack, route } = resolved;
    const request = unverifiedRequest({
      namespace: installed.namespace,
      pack: pack.name,
      route: route.name,
      // A HEAD asks for what the GET would answer (RFC 9110 §9.3.2); no scheme needs to know.
      method: head.method === 'HEAD' ? 'GET' : head.method,
      target: head.target,
      headers: head.headers,
      body,
      receivedAt: this.#options.clock.now(),
    });
    const verification = verifyRequest(route.verify, request);
    way.passage.judged(verification.kind !== 'refused');
    way.stopwatch.lap('verify');
    switch (verification.kind) {
      case 'refused':
        return {
          ...refuse(REFUSED[verification.status]),
          reason: verification.reason,
          about: subjectOf(resolved),
        };
      case 'handshake':
        return { decision: 'handshake', answer: handshakeAnswer(verification.answer) };
      case 'verified':
        // GET is a safe method (RFC 9110 §9.2.1): whatever a scheme thinks of one, it stores nothing.
        if (request.method === 'GET') return { ...refuse('handshake_refused'), about: subjectOf(resolved) };
        return this.#settle(resolved, verification.receipt, way);
    }
  }

  async #settle(resolved: ResolvedRoute, receipt: Receipt, way: Admitted): Promise<Verdict> {
    const shed = way.passage.settle();
    return shed === null ? await this.#commit(resolved, receipt, way) : shedVerdict(shed);
  }

  async #commit(resolved: ResolvedRoute, receipt: Receipt, { stopwatch, trace }: Way): Promise<Verdict> {
    const { installed, route } = resolved;
    const draft = draftReceipt({ route, receipt, newId: this.#options.newId });
    stopwatch.lap('draft');
    const span = trace?.send({
      receiptId: draft.receiptId,
      events: draft.events.length,
      bodyBytes: draft.body.length,
    });
    const traced = span === undefined ? draft : { ...draft, traceContext: span.traceContext };
    const commitment = await this.#options.commits.submit(installed.packId, installed.namespace, traced);
    stopwatch.lap('commit');
    span?.end(commitment.kind === 'stored' ? null : commitment.kind);
    const verdict = verdictOf(commitment, route.ack);
    if (commitment.kind !== 'stored') return verdict;
    const { receiptId } = commitment.result;
    return { ...verdict, about: { ...subjectOf(resolved), receiptId, error: draft.quarantine } };
  }
}

/** What goes with one request through its decision. */
interface Way {
  readonly readBody: ReadBody;
  readonly stopwatch: Stopwatch<AdmissionStage>;
  readonly trace: RequestTrace | null;
}

interface Admitted extends Way {
  readonly passage: Passage;
}

/** In traces alone, where servers use this number for it: nobody is there to be answered. */
const CLIENT_CLOSED_REQUEST = 499;

function subjectOf({ installed, pack, route }: ResolvedRoute): VerdictSubject {
  return { namespace: installed.namespace, pack: pack.name, route: route.name };
}

const REFUSED = { 401: 'invalid_signature', 403: 'handshake_refused' } as const;
const ACCEPT_IDENTITY = Object.freeze({ 'accept-encoding': 'identity' });

export function refuse(code: RefusalCode, headers?: Readonly<Record<string, string>>): Verdict {
  return { decision: code, answer: problem(code, headers) };
}

function shedVerdict({ shed, retryAfterSeconds }: Shed): Verdict {
  return { decision: 'overloaded', answer: overloaded(retryAfterSeconds), shed };
}

function allowedMethods({ route }: ResolvedRoute): readonly string[] {
  const { methods } = route.verify;
  return methods.includes('GET') && !methods.includes('HEAD') ? [...methods, 'HEAD'] : methods;
}

function isIdentity(contentEncoding: string | undefined): boolean {
  return contentEncoding === undefined || /^(identity)?$/i.test(contentEncoding.trim());
}

function handshakeAnswer({ status, body, contentType, headers }: HandshakeAnswer): Answer {
  return answer(status, contentType, body, headers);
}

function verdictOf(commitment: Commitment, ack: ResolvedRoute['route']['ack']): Verdict {
  switch (commitment.kind) {
    case 'stored': {
      const { duplicate, conflict, quarantined } = commitment.result;
      const decision = quarantined
        ? 'quarantined'
        : conflict
          ? 'conflict'
          : duplicate
            ? 'duplicate'
            : 'accepted';
      const stored =
        ack === null ? acknowledgement(commitment.result) : answer(ack.status, ack.contentType, ack.body);
      return { decision, answer: stored };
    }
    case 'refused':
      return refuse(commitment.status === 'paused' ? 'paused' : 'pack_retired');
    case 'unavailable':
      return refuse('store_unavailable');
    case 'deadline':
      return refuse('commit_deadline');
    case 'failed':
      // A row that the database takes from nobody: a repeat could not help.
      return refuse(
        isLaneheadError(commitment.error, 'payload_too_large') ? 'payload_too_large' : 'internal',
      );
  }
}
