/** The process at one moment; the lag of the event loop is that since the reading before. */
export interface ProcessGauge {
  readonly cpuSeconds: number;
  readonly startedAtSeconds: number;
  readonly residentBytes: number;
  readonly heapUsedBytes: number;
  readonly heapTotalBytes: number;
  readonly externalBytes: number;
  readonly lagMeanSeconds: number;
  readonly lagP99Seconds: number;
  readonly lagMaxSeconds: number;
}

/** Watches the process it runs in until it is closed. */
export interface ProcessMeter {
  read(): ProcessGauge;
  /** Repeatable. */
  close(): void;
}
