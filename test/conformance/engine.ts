import type { Driver } from '../../src/store/driver.js';
import type { Store } from '../../src/store/store.js';

/** An open store under test, with a way to look at its rows and to bend them as a fault would. */
export interface OpenedStore {
  readonly store: Store;
  readonly driver: Driver;
  /** Statements over another connection. Integers are numbers, bytes are Buffers. */
  sql<R = Record<string, unknown>>(text: string, params?: readonly unknown[]): Promise<R[]>;
  close(): Promise<void>;
}

/** One engine at one isolation; the same suite runs against each. */
export interface Engine {
  readonly name: string;
  open(): Promise<OpenedStore>;
}
