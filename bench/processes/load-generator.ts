/** Keeps a number of connections busy with requests signed ahead of time; speaks HTTP over bare sockets. */
import { answerParent } from '../child.js';
import { deliveryOf, Pushes, repositoryName, requestOf } from '../pushes.js';
import { LoadConnection } from './load-connection.js';

export interface Ammunition {
  readonly requests: number;
  readonly repositories: number;
  readonly payloadBytes: number;
  /** Number of the first delivery. Default 0. */
  readonly firstDelivery?: number;
  /** Number of the first repository. Default 0. */
  readonly firstRepository?: number;
}

export interface Volley {
  readonly port: number;
  readonly connections: number;
  /** Number of the first request. */
  readonly from: number;
  /** Begin again when all were sent; else the volley ends there. */
  readonly again: boolean;
  readonly measuredMs: number;
  /** The status that counts. */
  readonly expected: number;
}

export interface VolleyResult {
  /** Number of the next request that was not sent. */
  readonly next: number;
  /** Numbers of the requests answered as expected, those answered after the measured time included. */
  readonly accepted: readonly number[];
  /** Answers by any other status. */
  readonly others: Readonly<Record<string, number>>;
  readonly elapsedMs: number;
  /** Of answers that came in the measured time. */
  readonly latenciesMs: readonly number[];
}

let requests: readonly Buffer[] = [];

function load({ requests: count, repositories, payloadBytes }: Ammunition): void {
  const pushes = new Pushes(payloadBytes);
  requests = Array.from({ length: count }, (_, number) =>
    requestOf(pushes.body(number, repositoryName(number % repositories)), deliveryOf(number)),
  );
}

async function fire(volley: Volley): Promise<VolleyResult> {
  const open = Array.from({ length: volley.connections }, () => LoadConnection.open(volley.port));
  const connections = await Promise.all(open);
  const accepted: number[] = [];
  const others: Record<string, number> = {};
  const latenciesMs: number[] = [];
  const measureFrom = performance.now();
  let measureUntil = measureFrom + volley.measuredMs;
  let next = volley.from;

  const shoot = async (connection: LoadConnection): Promise<void> => {
    for (;;) {
      const sentAt = performance.now();
      if (sentAt >= measureUntil) return;
      if (next >= requests.length && !volley.again) {
        measureUntil = Math.min(measureUntil, sentAt);
        return;
      }
      const number = next++ % requests.length;
      const { status } = await connection.send(requests[number]!);
      const answeredAt = performance.now();
      if (status === volley.expected) accepted.push(number);
      else others[status] = (others[status] ?? 0) + 1;
      if (status === volley.expected && answeredAt <= measureUntil) latenciesMs.push(answeredAt - sentAt);
    }
  };
  await Promise.all(connections.map(shoot));
  for (const connection of connections) connection.close();
  return { next, accepted, others, elapsedMs: measureUntil - measureFrom, latenciesMs };
}

answerParent({ load, fire });
