import type { Logger } from 'pino';
import {
  type Admission,
  type ReadBody,
  refuse,
  type Timing,
  type Verdict,
  type VerdictSubject,
} from './admission.js';
import type { AdmissionDecision, DecisionDetails, DecisionObserver, ShedReason } from './decision.js';
import { describeError } from './describe-error.js';
import type { Health } from './health.js';
import { pathOf, type RequestHead } from './request-head.js';

export interface RequestDecider {
  /** Decides one request; a `null` head is one that is no valid message. Never rejects. */
  decide(head: RequestHead | null, readBody: ReadBody): Promise<Verdict | 'truncated'>;
  /** Counts and logs what was decided, once the transport knows that this is how the request ended. */
  record(verdict: Verdict | 'truncated', client: () => string): void;
}

export interface RequestDeciderOptions {
  readonly health: Health;
  readonly admission: Admission;
  readonly log: Logger;
  readonly onDecision: DecisionObserver;
}

/** The one way of all transports: probes of the process, then admission. */
export function requestDecider({
  health,
  admission,
  log,
  onDecision,
}: RequestDeciderOptions): RequestDecider {
  return {
    async decide(head, readBody) {
      if (head === null) return refuse('bad_request');
      const probe = health.answer(head.method, pathOf(head.target));
      if (probe !== null) return { decision: null, answer: await probe };
      try {
        return await admission.decide(head, readBody);
      } catch (error) {
        log.error({ error: describeError(error) }, 'deciding a request failed');
        return refuse('internal');
      }
    },

    record(verdict, client) {
      const { decision, reason, about, shed, timing } = verdict === 'truncated' ? TRUNCATED : verdict;
      if (decision !== null) onDecision(decision, timing && detailsOf(timing, about, shed));
      const warning = decision === null ? undefined : WARNINGS[decision];
      const level = warning === undefined ? 'debug' : 'warn';
      if (!log.isLevelEnabled(level)) return;
      log[level](
        { decision, reason: reason ?? shed ?? undefined, ...about, client: client() },
        warning ?? 'request decided',
      );
    },
  };
}

const TRUNCATED: Omit<Verdict, 'answer'> = { decision: 'truncated' };

function detailsOf(
  { elapsedMs, stages }: Timing,
  about: VerdictSubject | undefined,
  shed: ShedReason | undefined,
): DecisionDetails {
  const subject = about ? { namespace: about.namespace, pack: about.pack, route: about.route } : null;
  return { subject, shed: shed ?? null, receiptId: about?.receiptId ?? null, elapsedMs, stages };
}

/** What somebody has to see to: the sender was told less than what the log says, or nothing at all. */
const WARNINGS: Partial<Record<AdmissionDecision, string>> = {
  invalid_signature: 'a signature was refused',
  handshake_refused: 'a handshake was refused',
  quarantined: 'a receipt was quarantined: materialize failed',
  conflict: 'a known key came with other bytes',
};
