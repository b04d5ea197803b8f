/** A process with a mutant alive in it: its arguments are the mutant's module, what replaces it, and its share. */
import { register } from 'node:module';
import type { Share } from './run-seeds.js';

const [url, source, share] = process.argv.slice(2) as [string, string, string];
register('./mutant-loader.js', { parentURL: import.meta.url, data: { url, source } });

// Only now: what is imported before would not be broken.
const { runShare } = await import('./run-seeds.js');
const reports = await runShare(JSON.parse(share) as Share);
process.send!(reports, () => process.disconnect());
