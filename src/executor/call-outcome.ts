import type { FailureCode, Outcome, WorkError } from '../core/outcome.js';
import type { Random } from '../core/random.js';
import { type RetryPolicy, retryDelayMs } from '../core/retry.js';
import type { ClaimedItem } from '../store/store.js';
import { type FlowVerdict, verdictIn } from './flow-signal.js';
import type { CallEnd } from './guarded-call.js';
import { plainText, workError } from './work-error.js';

export type CallStage = 'batchRead' | 'flow';

const CODES: Readonly<Record<CallStage, FailureCode>> = {
  batchRead: 'batch_read_error',
  flow: 'flow_error',
};

export interface CallReport extends CallEnd {
  readonly stage: CallStage;
  /** Whose verdicts count; `null`: the call had none to give. */
  readonly owner: object | null;
  readonly item: ClaimedItem;
  readonly retry: RetryPolicy;
}

/**
 * How a call into a pack's code ended, as data. A return completes, whenever it came; a verdict stands even after
 * an abort, because the flow meant it. Otherwise what aborted the call explains its end: the deadline is the
 * item's failure, a stop or an unsafe lease is not.
 * `null`: nothing may be reported. The flow still runs in a process that is about to end; its lease keeps others
 * from its lane until it runs out.
 */
export function callOutcome(report: CallReport, random: Random): Outcome | null {
  const { settled, abortCause, owner } = report;
  if (settled.kind === 'returned') return { kind: 'completed' };
  if (settled.kind === 'abandoned') return abandonedOutcome(report, random);
  const verdict = owner === null ? null : verdictIn(settled.error, owner);
  if (verdict !== null) return verdictOutcome(verdict, report, random);
  if (abortCause === 'deadline') return deadlineOutcome(report, random, 'aborted at its deadline');
  if (abortCause !== null) return { kind: 'released', reason: `aborted: ${abortCause}` };
  return failed(report, random, workError(CODES[report.stage], settled.error));
}

function abandonedOutcome(report: CallReport, random: Random): Outcome | null {
  if (report.abortCause === 'stopping') return null;
  return deadlineOutcome(report, random, 'ignored its abort and was abandoned');
}

function deadlineOutcome(report: CallReport, random: Random, what: string): Outcome {
  return failed(report, random, { code: 'flow_deadline' satisfies FailureCode, message: `the call ${what}` });
}

function verdictOutcome(verdict: FlowVerdict, report: CallReport, random: Random): Outcome {
  switch (verdict.kind) {
    case 'skip':
      return { kind: 'skipped', error: { code: 'flow_skip', message: plainText(verdict.why) } };
    case 'dead':
      return { kind: 'dead', error: { code: 'flow_dead', message: plainText(verdict.why) } };
    case 'retry': {
      const error = {
        code: 'retry_after' satisfies FailureCode,
        message: 'the flow asked to be run again later',
      };
      const outcome = failed(report, random, error);
      return verdict.delayMs === null ? outcome : { ...outcome, delayMs: verdict.delayMs };
    }
  }
}

function failed(report: CallReport, random: Random, error: WorkError): Extract<Outcome, { kind: 'failed' }> {
  const delayMs = retryDelayMs(report.retry, report.item.failures + 1, random);
  return { kind: 'failed', error, delayMs };
}
