/** One of several OS processes of `npm run sim -- --jobs`: is sent its share, sends the reports back. */
import { runShare, type Share } from './run-seeds.js';

process.once('message', async (share: Share) => {
  const reports = await runShare(share);
  process.send!(reports, () => process.disconnect());
});
