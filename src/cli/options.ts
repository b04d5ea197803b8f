import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEFAULT_DATABASE_URL } from '../runtime/database-url.js';

/** Of `lanehead dev`, so that trying out leaves the other one alone. */
export const DEV_DATABASE_URL = 'sqlite:./lanehead-dev.db';

/** Options that several commands share, each a new one: commander keeps state in them. */
export const databaseOption = (otherwise: string = DEFAULT_DATABASE_URL): Option =>
  new Option(
    '--db <url>',
    `sqlite:<path> or mysql://user@host/db; default DATABASE_URL or DATABASE_URL_FILE, then ${otherwise}`,
  );

export const jsonOption = (): Option =>
  new Option('--json', 'one JSON value on stdout; failures as JSON on stderr');

export const unsafeDurabilityOption = (): Option =>
  new Option('--unsafe-durability', 'accept database settings under which a power cut loses commits');

export const namespaceOption = (description: string): Option =>
  new Option('--namespace <name>', description).argParser(collect);

export const limitOption = (): Option =>
  new Option('--limit <count>', 'items on a page, 1 to 200').default(50).argParser(pageLimit);

export const cursorOption = (): Option => new Option('--cursor <cursor>', '"next" of the page before');

/** For options that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

/** The longest page the store reads. */
const MAX_LIMIT = 200;

function pageLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** What `serve` and `dev` share, each with the defaults of its own. */
export function addServeOptions(command: Command, databaseUrl?: string): Command {
  return command
    .argument('<pack-file...>', 'TypeScript or JavaScript, each with definePack(…) as its default export')
    .addOption(databaseOption(databaseUrl))
    .addOption(namespaceOption('tenant, part of the URL; repeatable; installed if absent'))
    .addOption(new Option('--role <role>', 'all, ingress (receive only) or worker (run only)'))
    .addOption(new Option('--host <host>', 'where webhooks come in; default 127.0.0.1'))
    .addOption(new Option('--port <port>', 'where webhooks come in; default 8420; 0: any free one'))
    .addOption(
      new Option('--admin-port <port>', 'health and metrics, on loopback; default 8421; 0: any free one'),
    )
    .addOption(unsafeDurabilityOption())
    .addHelpText('after', '\nSettings without an option are variables: see docs/configuration.md.');
}
