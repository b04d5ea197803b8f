import type { FlowEvent, Pack, QueueClass } from '../src/index.js';
import { definePack, signatures } from '../src/index.js';
import { SECRET } from './pushes.js';

export const NAMESPACE = 'bench';

/** The pack that every contestant serves: ordered by repository, one Event a push. */
export function githubPack(
  flow: (event: FlowEvent) => void | Promise<void>,
  queueClassOf: (deliveryKey: string) => QueueClass = () => 'default',
): Pack {
  return definePack({
    name: 'github',
    version: '1.0.0',
    routes: {
      events: {
        version: 1,
        verify: signatures.github({ secret: SECRET }),
        ordering: 'source',
        materialize: (receipt) => {
          const key = receipt.header('x-github-delivery')!;
          const { repository } = receipt.json() as { repository: { full_name: string } };
          const event = {
            type: receipt.header('x-github-event')!,
            sourceKey: repository.full_name,
            queueClass: queueClassOf(key),
          };
          return { deliveries: [{ key, events: [event] }] };
        },
        flow: async (event) => flow(event),
      },
    },
  });
}
