/** Sizes of the stress cases. `LANEHEAD_STRESS_FACTOR=1` takes them whole; a test run takes a tenth. */
const FACTOR = Number(process.env.LANEHEAD_STRESS_FACTOR ?? 0.1);

export const stressed = (whole: number): number => Math.ceil(whole * FACTOR);
export const STRESS_TIMEOUT_MS = 60_000 + 1_200_000 * FACTOR;
export const inWords = (count: number): string => count.toLocaleString('en-US');
/** More callers at once than connections: each waits for its turn, however slow the machine. */
export const PATIENT = { acquireTimeoutMs: 60_000 } as const;
