import { createRequire } from 'node:module';

/** One webhook as GitHub would send it. */
export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly source: string;
  readonly body: string;
}

export interface Payload {
  readonly repository?: { readonly full_name: string };
  readonly organization?: { readonly login: string };
}

/** The package is one JSON file, and its types speak of a module that it is not. */
const require = createRequire(import.meta.url);
const EXAMPLES = require('@octokit/webhooks-examples') as readonly {
  readonly name: string;
  readonly examples: readonly Payload[];
}[];

/** What the order is kept for: the repository, or the organization where there is none. */
export function sourceOf({ repository, organization }: Payload): string {
  return repository?.full_name ?? organization?.login ?? 'github';
}

/** Every example payload of GitHub's own documentation, as the community collected them. */
export function realDeliveries(): Delivery[] {
  const named = EXAMPLES.flatMap(({ name, examples }) => examples.map((payload) => ({ name, payload })));
  return named.map(({ name, payload }, place) => ({
    id: `real-${place}`,
    event: name,
    source: sourceOf(payload),
    body: JSON.stringify(payload),
  }));
}

/** Pushes to repositories that do not exist, the same number to each. */
export function syntheticDeliveries(repositories: number, pushesEach: number): Delivery[] {
  return Array.from({ length: repositories * pushesEach }, (_, place) => {
    const source = `demo/repository-${place % repositories}`;
    const payload = { ref: 'refs/heads/main', after: `commit ${place} ✓`, repository: { full_name: source } };
    return { id: `synthetic-${place}`, event: 'push', source, body: JSON.stringify(payload) };
  });
}

/** In order of sending, by source. */
export function bySource(deliveries: readonly Delivery[]): ReadonlyMap<string, readonly Delivery[]> {
  const sources = new Map<string, Delivery[]>();
  for (const delivery of deliveries) {
    const list = sources.get(delivery.source) ?? [];
    sources.set(delivery.source, list);
    list.push(delivery);
  }
  return sources;
}
