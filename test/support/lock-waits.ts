import { type Connection, createConnection, type RowDataPacket } from 'mysql2/promise';

/** Tells which connections wait for a row lock at this very moment. */
export interface LockWaits {
  waiting(): Promise<ReadonlySet<number>>;
  close(): Promise<void>;
}

/**
 * Reads InnoDB's own status, because information_schema.INNODB_TRX answers from a cache that repeated reading keeps
 * from being refreshed, and the process list does not tell a lock wait from work.
 */
export async function watchLockWaits(url: string): Promise<LockWaits> {
  const connection: Connection = await createConnection(url);
  return {
    async waiting() {
      const [rows] = await connection.query<RowDataPacket[]>('SHOW ENGINE INNODB STATUS');
      return parseLockWaits(String(rows[0]!.Status));
    },
    close: () => connection.end(),
  };
}

export function parseLockWaits(status: string): ReadonlySet<number> {
  const waiting = new Set<number>();
  for (const transaction of status.split(/^---TRANSACTION /m).slice(1)) {
    const thread = /^(?:MariaDB|MySQL) thread id (\d+)/m.exec(transaction);
    if (thread && /^LOCK WAIT /m.test(transaction)) waiting.add(Number(thread[1]));
  }
  return waiting;
}
