import type Database from 'better-sqlite3';
import type { Call, Reply, Row } from '../../plan.js';
import { sqliteDialect } from './dialect.js';

/** Performs calls on one connection; every shape of a statement is prepared once. */
export class PreparedStatements {
  readonly #db: Database.Database;
  readonly #prepared = new Map<string, Database.Statement>();

  constructor(db: Database.Database) {
    this.#db = db;
  }

  perform(call: Call): Reply {
    const statement = this.#prepare(call);
    if (call.statement.kind === 'read') return { rows: statement.all(...call.params) as Row[], changes: 0 };
    return { rows: [], changes: statement.run(...call.params).changes };
  }

  #prepare({ statement, size }: Call): Database.Statement {
    const key = `${statement.name}/${size}`;
    let found = this.#prepared.get(key);
    if (found === undefined) {
      found = this.#db.prepare(statement.sql(sqliteDialect, size));
      this.#prepared.set(key, found);
    }
    return found;
  }
}
