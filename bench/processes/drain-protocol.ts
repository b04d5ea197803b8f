export interface DrainOrder {
  readonly databaseUrl: string;
  readonly items: number;
  readonly lanes: number;
  readonly workers: number;
  readonly metrics: boolean;
}

export interface DrainResult {
  readonly elapsedMs: number;
  readonly violations: number;
  readonly turnsMs: readonly number[];
}
