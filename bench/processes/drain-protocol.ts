export interface DrainOrder {
  readonly databaseUrl: string;
  readonly items: number;
  readonly lanes: number;
  readonly workers: number;
  /** Numbers of the items in the order in which they were stored. Default: as they are numbered. */
  readonly order?: readonly number[];
  readonly metrics: boolean;
}

export interface DrainResult {
  readonly elapsedMs: number;
  readonly violations: number;
  readonly turnsMs: readonly number[];
}
