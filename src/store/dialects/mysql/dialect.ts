import type { Dialect } from '../../statement.js';

/**
 * `now`: epoch milliseconds by the server's clock, exact (UNIX_TIMESTAMP of a NOW(3) is a DECIMAL with three
 * places) and a BIGINT. It is the time the statement began: a statement that waited for a lock tells the time
 * before the wait. Sessions run at `+00:00`, or the hour that a time zone repeats in autumn would be ambiguous.
 */
export const mysqlDialect: Dialect = {
  name: 'mysql',
  now: 'CAST(ROUND(UNIX_TIMESTAMP(NOW(3)) * 1000) AS SIGNED)',
  forUpdate: ' FOR UPDATE',
};
