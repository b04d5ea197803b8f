import type { Clock } from '../../../core/clock.js';
import { LaneheadError } from '../../../core/errors.js';
import { DuplicateKey } from '../../driver.js';
import type { LatencyMeter } from '../../latency-meter.js';
import type { Call, Param, Plan, Reply } from '../../plan.js';
import type { Statement } from '../../statement.js';
import type { MysqlConnection } from './connection.js';
import { mysqlDialect } from './dialect.js';
import { classify, type Phase } from './errors.js';
import type { MysqlStep } from './options.js';

const texts = new WeakMap<Statement, Map<number, string>>();

/** The text of a shape, rendered once per process. */
export function textOf({ statement, size }: Pick<Call, 'statement' | 'size'>): string {
  const shapes = texts.get(statement) ?? new Map<number, string>();
  const text = shapes.get(size) ?? statement.sql(mysqlDialect, size);
  texts.set(statement, shapes.set(size, text));
  return text;
}

export interface DriveSettings {
  /** What an error of this call may have left behind. */
  readonly phaseOf: (call: Call) => Phase;
  /** `max_allowed_packet` of the server. */
  readonly maxPacketBytes: number;
  readonly onStatement?: ((step: MysqlStep) => void | Promise<void>) | undefined;
  readonly meter: { readonly clock: Clock; readonly latency: LatencyMeter };
}

/**
 * Sends a plan's statements one after the other. A refused unique key is thrown into the plan; after any other
 * error not one more statement is sent: what the plan yields while it unwinds is dropped, for the transaction may
 * be gone and a statement would commit by itself (1020, 1213).
 * @throws LaneheadError `payload_too_large`: a statement that the server would answer by hanging up
 */
export async function drive<T>(
  connection: MysqlConnection,
  plan: () => Plan<T>,
  settings: DriveSettings,
): Promise<T> {
  const running = plan();
  let step = running.next();
  while (!step.done) {
    const outcome = await send(connection, step.value, settings);
    if (!(outcome instanceof Error)) step = running.next(outcome);
    else if (outcome instanceof DuplicateKey) step = running.throw(outcome);
    else {
      running.return(undefined as T);
      throw outcome;
    }
  }
  return step.value;
}

async function send(
  connection: MysqlConnection,
  call: Call,
  { phaseOf, maxPacketBytes, onStatement, meter }: DriveSettings,
): Promise<Reply | Error> {
  const sql = textOf(call);
  try {
    if (onStatement) {
      await onStatement({ kind: 'statement', name: call.statement.name, sql, connectionId: connection.id });
    }
    if (packetBytes(call.params) > maxPacketBytes) {
      const detail = `${call.statement.name}: a row is longer than max_allowed_packet, ${maxPacketBytes} bytes`;
      return new LaneheadError('payload_too_large', detail);
    }
    const startedAt = meter.clock.monotonic();
    const reply = await connection.execute(sql, call.params);
    meter.latency.note(startedAt);
    return reply;
  } catch (error) {
    return classify(error, phaseOf(call));
  }
}

/** At most what a number or a length takes, with its type: 9 + 2 bytes; and the command's own few. */
const PARAM_BYTES = 11;

/** Of an execute, which sends parameters without the text. */
function packetBytes(params: readonly Param[]): number {
  let bytes = PARAM_BYTES;
  for (const param of params) {
    bytes += PARAM_BYTES;
    if (typeof param === 'string') bytes += Buffer.byteLength(param);
    else if (param instanceof Uint8Array) bytes += param.length;
  }
  return bytes;
}
