/**
 * What one process's admission does with its requests, counted beside it:
 *
 *   in hand ──body read, verified──▶ in line ──▶ answered
 *      └────────── refused ─────────────┴──────────▲
 */
import type { Breach } from './row-audit.js';

/** What the admission says of itself. */
export interface AdmissionLoad {
  readonly unverified: { readonly requests: number; readonly bytes: number };
  readonly verified: { readonly requests: number; readonly bytes: number };
  readonly lineUnits: (namespace: string) => number;
}

export interface AdmissionBounds {
  readonly inFlight: number;
  readonly unverified: number;
}

export interface RequestInHand {
  readonly namespace: string;
  /** Its own, also where it repeats another. */
  readonly id: string;
  isRead: boolean;
  /** Nobody else was in hand, and no commit under way, in all its time: at all, and in its namespace. */
  isAlone: boolean;
  isAloneInNamespace: boolean;
}

export interface AdmissionAnswer {
  readonly status: number;
  /** `overloaded`, `commit_deadline`…, or `accepted`. */
  readonly decision: string | null;
  readonly shed: string | undefined;
  readonly retryAfter: string | undefined;
}

const MOST_RETRY_SECONDS = 120;
/** Of requests; with fewer the quarter that one namespace never holds, kept for newcomers, is none. */
const LEAST_SHARED = 4;

export class AdmissionRules {
  readonly #bounds: AdmissionBounds;
  readonly #breach: (breach: Breach) => void;
  readonly #inHand = new Set<RequestInHand>();
  /** Requests that were given to the store, and those that were turned away. */
  readonly #sent = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #commits = new Map<string, number>();
  /** A commit failed, or took too long: its receipts are tried one by one, or still counted though they are answered. */
  #isDisturbed = false;

  constructor(bounds: AdmissionBounds, breach: (breach: Breach) => void) {
    this.#bounds = bounds;
    this.#breach = breach;
  }

  /** @param load just before */
  arrives(namespace: string, id: string, load: AdmissionLoad): RequestInHand {
    this.#compare(load);
    const same = this.#of(namespace);
    const request: RequestInHand = {
      namespace,
      id,
      isRead: false,
      isAlone: this.#inHand.size === 0 && this.#commits.size === 0,
      isAloneInNamespace: same.length === 0 && !this.#commits.has(namespace),
    };
    for (const other of this.#inHand) other.isAlone = false;
    for (const other of same) other.isAloneInNamespace = false;
    this.#inHand.add(request);
    return request;
  }

  answered(request: RequestInHand, { status, decision, shed, retryAfter }: AdmissionAnswer): void {
    this.#inHand.delete(request);
    if (decision === 'commit_deadline') this.#isDisturbed = true;
    if (status === 503) {
      const seconds = Number(retryAfter);
      if (!Number.isInteger(seconds) || seconds < 1 || seconds > MOST_RETRY_SECONDS)
        this.#breach(['admission', `to come back after ${retryAfter} s`]);
    }
    if (decision !== 'overloaded') return;
    if (status !== 503) this.#breach(['admission', `overloaded, and answered ${status}`]);
    this.#refused.add(request.id);
    if (this.#sent.has(request.id)) this.#breach(['admission', 'refused, and given to the store']);
    if (request.isAlone) this.#breach(['admission', `refused for ${shed}, and nothing was in flight`]);
    else if (request.isAloneInNamespace && shed !== 'unverified' && this.#bounds.inFlight >= LEAST_SHARED)
      this.#breach(['admission', `refused for ${shed}, and others have used its namespace's share`]);
  }

  /** A commit of these requests begins; call what is returned when it is over. */
  commits(namespace: string, ids: readonly string[]): (failed: boolean) => void {
    for (const id of ids) {
      this.#sent.add(id);
      if (this.#refused.has(id)) this.#breach(['admission', 'refused, and stored later']);
    }
    this.#commits.set(namespace, (this.#commits.get(namespace) ?? 0) + 1);
    return (failed) => {
      if (failed) this.#isDisturbed = true;
      const left = this.#commits.get(namespace)! - 1;
      if (left > 0) this.#commits.set(namespace, left);
      else this.#commits.delete(namespace);
    };
  }

  /** Who is in hand holds a place, and nobody else does (ADM-2). */
  #compare({ unverified, verified, lineUnits }: AdmissionLoad): void {
    const read = [...this.#inHand].filter(({ isRead }) => isRead);
    const unread = this.#inHand.size - read.length;
    if (verified.requests !== read.length || unverified.requests !== unread)
      this.#breach([
        'admission',
        `${verified.requests} and ${unverified.requests} places for ${read.length} verified, ${unread} not`,
      ]);
    if (this.#inHand.size === 0 && verified.bytes + unverified.bytes !== 0)
      this.#breach(['admission', 'bytes are held for nobody']);
    if (verified.requests > this.#bounds.inFlight || unverified.requests > this.#bounds.unverified)
      this.#breach(['admission', `${verified.requests} and ${unverified.requests} are over a bound`]);
    this.#compareLines(read, lineUnits);
  }

  /** Every body here is a small one: a unit each. */
  #compareLines(read: readonly RequestInHand[], lineUnits: AdmissionLoad['lineUnits']): void {
    if (this.#commits.size === 0 && read.length === 0) this.#isDisturbed = false;
    const { inFlight } = this.#bounds;
    for (const namespace of new Set([...this.#inHand].map((request) => request.namespace))) {
      const inLine = read.filter((request) => request.namespace === namespace).length;
      if (inLine > inFlight - Math.floor(inFlight / LEAST_SHARED))
        this.#breach(['admission', `${inLine} of ${inFlight} places are held by ${namespace} alone`]);
      const units = lineUnits(namespace);
      if (units !== inLine && !this.#isDisturbed)
        this.#breach(['admission', `${units} units in the line of ${namespace}, for ${inLine} requests`]);
    }
  }

  #of(namespace: string): readonly RequestInHand[] {
    return [...this.#inHand].filter((request) => request.namespace === namespace);
  }
}
