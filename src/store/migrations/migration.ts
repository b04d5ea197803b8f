/**
 * A numbered, append-only change of the schema. Never edited once released: its checksum stands in
 * `manifest.json` and in every database that ran it.
 */
export interface Migration {
  /** `NNNN_what`, rising. */
  readonly id: string;
  /** True: an older binary can go on working with the database after it (columns or tables added only). */
  readonly additive: boolean;
  /** One transaction together with its history row. */
  readonly sqlite: readonly string[];
  /** Exactly one idempotent DDL: MySQL commits each DDL by itself, so a crash leaves it done or not done. */
  readonly mysql: string;
}
