import type { FlowEvent, Pack } from '../src/index.js';
import { definePack, signatures } from '../src/index.js';
import { SECRET } from './pushes.js';

export const NAMESPACE = 'bench';

/** The pack that every contestant serves: ordered by repository, one Event a push. */
export function githubPack(flow: (event: FlowEvent) => void | Promise<void>): Pack {
  return definePack({
    name: 'github',
    version: '1.0.0',
    routes: {
      events: {
        version: 1,
        verify: signatures.github({ secret: SECRET }),
        ordering: 'source',
        materialize: (receipt) => ({
          deliveries: [
            {
              key: receipt.header('x-github-delivery'),
              events: [
                {
                  type: receipt.header('x-github-event')!,
                  sourceKey: (receipt.json() as { repository: { full_name: string } }).repository.full_name,
                },
              ],
            },
          ],
        }),
        flow: async (event) => flow(event),
      },
    },
  });
}
