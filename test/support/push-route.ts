import { signatures } from '../../src/packs/signatures.js';
import type { RouteInput } from '../../src/packs/types.js';

export const SECRET = 'it is known to both';
export const BODY_LIMIT_BYTES = 20_000;

/** A route in GitHub's manner whose events are its JSON body's `repository`. */
export const pushRoute = {
  version: 1,
  verify: signatures.github({ secret: SECRET }),
  materialize: (receipt) => ({
    deliveries: [
      {
        key: receipt.header('x-github-delivery'),
        events: [{ type: 'push', sourceKey: (receipt.json() as { repository: string }).repository }],
      },
    ],
  }),
  flow: () => {},
} satisfies RouteInput;
