/**
 * Repository webhooks of GitHub, kept in order per repository.
 *
 *   GITHUB_WEBHOOK_SECRET=… npx lanehead serve examples/github.ts --namespace acme
 *
 * At GitHub: payload URL https://<host>/in/acme/github/events, content type application/json, the same secret.
 */
import { definePack, signatures } from 'lanehead';

interface GithubPayload {
  readonly action?: string;
  readonly repository?: { readonly full_name: string };
  readonly organization?: { readonly login: string };
}

/** What the order is kept for; events of an organization have no repository. */
function sourceOf({ repository, organization }: GithubPayload): string {
  return repository?.full_name ?? organization?.login ?? 'github';
}

/** A person waits for an answer to a comment; nobody waits for the end of a build. */
const INTERACTIVE = ['issue_comment', 'issues', 'pull_request', 'pull_request_review'];
const BULK = ['check_run', 'check_suite', 'status', 'workflow_job', 'workflow_run'];

function queueClassOf(type: string): 'interactive' | 'default' | 'bulk' {
  if (INTERACTIVE.includes(type)) return 'interactive';
  return BULK.includes(type) ? 'bulk' : 'default';
}

export default definePack({
  name: 'github',
  version: '1.0.0',
  routes: {
    events: {
      version: 1,
      verify: signatures.github({ secret: () => process.env.GITHUB_WEBHOOK_SECRET }),
      materialize: (receipt) => {
        const key = receipt.header('x-github-delivery');
        const type = receipt.header('x-github-event') ?? 'unknown';
        // Sent when the webhook is set up: stored as a receipt, nothing to do.
        if (type === 'ping') return { deliveries: [{ key, events: [] }] };
        const sourceKey = sourceOf(receipt.json() as GithubPayload);
        return { deliveries: [{ key, events: [{ type, sourceKey, queueClass: queueClassOf(type) }] }] };
      },
      flow: (event, ctx) => {
        const { action } = event.json() as GithubPayload;
        ctx.log.info('github event', { type: event.type, action, repository: event.sourceKey });
      },
    },
  },
});
