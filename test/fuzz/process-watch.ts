/** Hears what would end a process: errors that nobody caught. */
export class ProcessWatch {
  readonly #caught: unknown[] = [];
  readonly #hear = (error: unknown): void => void this.#caught.push(error);

  constructor() {
    process.on('unhandledRejection', this.#hear);
    process.on('uncaughtException', this.#hear);
  }

  /** Throws the first one. Rejections are known to be unhandled only when the microtasks are through. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
    const [first] = this.#caught.splice(0);
    if (first !== undefined) throw new Error(`nobody caught ${describe(first)}`, { cause: first });
  }

  close(): void {
    process.off('unhandledRejection', this.#hear);
    process.off('uncaughtException', this.#hear);
  }
}

function describe(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : String(error);
  } catch {
    return 'something that cannot be shown';
  }
}
