import type { FlowLog } from '../packs/types.js';
import type { ClaimedItem } from '../store/store.js';

type Fields = Readonly<Record<string, unknown>>;

/** The log a pack writes to in one namespace. */
export function packLog(log: FlowLog, namespace: string, pack: string): FlowLog {
  return withFields(log, { namespace, pack });
}

/** The log a flow writes to: every line says which item it is about, by ids of this house only (MET-5). */
export function itemLog(log: FlowLog, { eventId, lease, route, attempt }: ClaimedItem): FlowLog {
  return withFields(log, { eventId, workId: lease.workId, route, attempt });
}

function withFields(log: FlowLog, about: Fields): FlowLog {
  const withAbout = (fields: Fields | undefined): Fields => ({ ...fields, ...about });
  return {
    debug: (message, fields) => log.debug(message, withAbout(fields)),
    info: (message, fields) => log.info(message, withAbout(fields)),
    warn: (message, fields) => log.warn(message, withAbout(fields)),
    error: (message, fields) => log.error(message, withAbout(fields)),
  };
}
