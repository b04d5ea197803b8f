/**
 * Sends requests at their times, whatever becomes of those before them: latencies count from when a request was due. Who
 * is refused comes back as `Retry-After` says, or not at all.
 */
import { answerParent, machineMs } from '../child.js';
import { deliveryOf, Pushes, repositoryName, requestOf } from '../pushes.js';
import { LoadConnection } from './load-connection.js';
import type { Ammunition } from './load-generator.js';

export interface Stream {
  readonly port: number;
  readonly connections: number;
  /** Number of the first request. */
  readonly from: number;
  readonly perSecond: number;
  readonly measuredMs: number;
  readonly obey: boolean;
  /** What finds no connection within the measured time is not sent: the rate is then that of the server. */
  readonly leaveUnsent: boolean;
}

export interface StreamResult {
  readonly next: number;
  /** Numbers of the requests answered 202 at last. */
  readonly accepted: readonly number[];
  /** Of these, how many within the time in which new ones were sent. */
  readonly acceptedInTime: number;
  /** Of the answers 202. */
  readonly latenciesMs: readonly number[];
  /** Refusals by the second in which they came. */
  readonly refusedBySecond: readonly number[];
  /** Answers that were neither 202 nor a 503 with Retry-After. */
  readonly others: Readonly<Record<string, number>>;
  /** On the clock of `machineMs`. */
  readonly startedAtMs: number;
  /** From the first request to the last answer. */
  readonly elapsedMs: number;
}

interface Due {
  readonly number: number;
  readonly atMs: number;
}

const STEP_MS = 2;
let requests: readonly Buffer[] = [];

function load(ammunition: Ammunition): void {
  const { requests: count, repositories, payloadBytes, firstDelivery = 0, firstRepository = 0 } = ammunition;
  const pushes = new Pushes(payloadBytes);
  requests = Array.from({ length: count }, (_, number) => {
    const repository = repositoryName(firstRepository + (number % repositories));
    return requestOf(pushes.body(number, repository), deliveryOf(firstDelivery + number));
  });
}

async function stream(order: Stream): Promise<StreamResult> {
  const { port, connections, from, perSecond, measuredMs, obey, leaveUnsent } = order;
  const idle = await Promise.all(Array.from({ length: connections }, () => LoadConnection.open(port)));
  const due: Due[] = [];
  const accepted: number[] = [];
  const latenciesMs: number[] = [];
  const refusedBySecond: number[] = [];
  const others: Record<string, number> = {};
  const count = Math.min(Math.floor((perSecond * measuredMs) / 1_000), requests.length - from);
  const startedAtMs = machineMs();
  const now = (): number => machineMs() - startedAtMs;
  let open = connections;
  let pending = count;
  let sent = 0;
  let acceptedInTime = 0;

  /** One that is free, or a new one in the place of one that the server closed; `null`: all are under way. */
  const take = (): LoadConnection | Promise<LoadConnection> | null => {
    for (let free = idle.pop(); free !== undefined; free = idle.pop()) {
      if (free.isOpen) return free;
      open--;
    }
    if (open === connections) return null;
    open++;
    return LoadConnection.open(port);
  };

  const shoot = async (taken: LoadConnection | Promise<LoadConnection>, { number, atMs }: Due) => {
    const connection = await taken;
    const { status, retryAfterSeconds } = await connection.send(requests[number]!);
    idle.push(connection);
    const at = now();
    if (status === 202) {
      accepted.push(number);
      latenciesMs.push(at - atMs);
      if (at <= measuredMs) acceptedInTime++;
    } else if (status === 503 && retryAfterSeconds >= 1) {
      const second = Math.floor(at / 1_000);
      refusedBySecond[second] = (refusedBySecond[second] ?? 0) + 1;
      if (obey) {
        setTimeout(() => due.push({ number, atMs: now() }), retryAfterSeconds * 1_000);
        return;
      }
    } else others[status] = (others[status] ?? 0) + 1;
    pending--;
  };

  await new Promise<void>((resolve, reject) => {
    const timer = setInterval(() => {
      for (; sent < count && (sent * 1_000) / perSecond <= now(); sent++)
        due.push({ number: from + sent, atMs: (sent * 1_000) / perSecond });
      while (due.length > 0) {
        const taken = take();
        if (taken === null) break;
        shoot(taken, due.shift()!).catch((error) => {
          clearInterval(timer);
          reject(error);
        });
      }
      if (leaveUnsent && now() >= measuredMs) {
        pending -= due.length + count - sent;
        due.length = 0;
        sent = count;
      }
      if (pending > 0) return;
      clearInterval(timer);
      resolve();
    }, STEP_MS);
  });
  const elapsedMs = now();
  for (const connection of idle) connection.close();
  const bySecond = Array.from(refusedBySecond, (refused) => refused ?? 0);
  return {
    next: from + count,
    accepted,
    acceptedInTime,
    latenciesMs,
    refusedBySecond: bySecond,
    others,
    startedAtMs,
    elapsedMs,
  };
}

answerParent({ load, stream });
