import { createRequire } from 'node:module';

// By name, not by path: a build may lie at another depth.
const { version } = createRequire(import.meta.url)('lanehead/package.json') as { version: string };

/** Of this package. */
export const VERSION: string = version;
