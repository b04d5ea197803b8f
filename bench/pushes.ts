/** GitHub push payloads as the provider sends them, each with its own repository, commit and delivery id. */
import { createHmac } from 'node:crypto';
import { createRequire } from 'node:module';

export const SECRET = 'a secret of the bench, longer than a short one';
export const PATH = '/in/bench/github/events';

const COMMIT = '@commit@';
const REPOSITORY = '@repository@';
const PADDING = '@padding@';

interface WebhookExample {
  readonly name: string;
  readonly examples: readonly { readonly repository: object }[];
}

/** The package's main file is JSON, which needs an import attribute that Node 20 still warns of. */
const EXAMPLES = createRequire(import.meta.url)('@octokit/webhooks-examples') as readonly WebhookExample[];

export class Pushes {
  readonly #pieces: readonly string[];

  /** @param bytes of one payload, about; with fewer than the example has, it is cut down to the fields that are read */
  constructor(bytes: number) {
    const push = EXAMPLES.find((webhook) => webhook.name === 'push')!.examples[0]!;
    const { repository } = push;
    const read = { after: COMMIT, repository: { full_name: REPOSITORY, description: PADDING } };
    const whole = JSON.stringify({ ...push, ...read, repository: { ...repository, ...read.repository } });
    const text = whole.length <= bytes ? whole : JSON.stringify(read);
    const padding = '.'.repeat(Math.max(0, bytes - text.length));
    this.#pieces = text.replace(PADDING, padding).split(/@commit@|@repository@/);
    if (this.#pieces.length !== 3) throw new Error('the example has another shape');
  }

  /** The body of push `number` to `repository`. */
  body(number: number, repository: string): Buffer {
    const commit = number.toString(16).padStart(40, '0');
    const [head, middle, tail] = this.#pieces;
    return Buffer.from(`${head}${commit}${middle}${repository}${tail}`);
  }
}

export const repositoryName = (lane: number): string => `octo/repository-${lane}`;

/** As GitHub's header has it; `number` is read back by `numberOfDelivery`. */
export const deliveryOf = (number: number): string =>
  `72d3162e-cc78-11e3-81ab-${number.toString().padStart(12, '0')}`;

export const numberOfDelivery = (delivery: string): number => Number(delivery.slice(-12));

export function headersOf(body: Buffer, delivery: string): [string, string][] {
  const signature = createHmac('sha256', SECRET).update(body).digest('hex');
  return [
    ['Host', 'bench'],
    ['User-Agent', 'GitHub-Hookshot/044aadd'],
    ['Content-Type', 'application/json'],
    ['Content-Length', String(body.length)],
    ['X-GitHub-Delivery', delivery],
    ['X-GitHub-Event', 'push'],
    ['X-GitHub-Hook-ID', '292430182'],
    ['X-Hub-Signature-256', `sha256=${signature}`],
  ];
}

/** A whole HTTP/1.1 request in one buffer, signed. */
export function requestOf(body: Buffer, delivery: string): Buffer {
  const lines = headersOf(body, delivery).map(([name, value]) => `${name}: ${value}`);
  const head = Buffer.from([`POST ${PATH} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  return Buffer.concat([head, body]);
}
