/**
 * The one error table: code → what it means, what to do, and the HTTP status where it can leave by HTTP.
 * A test proves that `docs/errors.md` lists exactly these.
 */
export const ERRORS = {
  // ingress
  bad_request: { status: 400, title: 'Malformed request', action: 'Send a well-formed HTTP/1.1 request.' },
  invalid_signature: {
    status: 401,
    title: 'Signature missing or wrong',
    action: 'Sign the raw body with the secret of this namespace and route.',
  },
  handshake_refused: {
    status: 403,
    title: 'Handshake refused',
    action: 'Check the verification token on both sides.',
  },
  unknown_route: {
    status: 404,
    title: 'No such route',
    action: 'Use /in/{namespace}/{pack}/{route} of an installed pack.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    action: 'Use a method named in the Allow header.',
  },
  request_timeout: {
    status: 408,
    title: 'Request too slow',
    action: 'Send headers and body without long pauses.',
  },
  pack_retired: { status: 410, title: 'Pack retired', action: 'Remove this webhook at the provider.' },
  payload_too_large: {
    status: 413,
    title: 'Body too large',
    action: 'Send a smaller body, or raise maxBodyBytes of the route.',
  },
  body_fragmented: {
    status: 400,
    title: 'Body in too many pieces',
    action: 'Send the body with a Content-Length, or in chunks of 64 bytes or more.',
  },
  unsupported_encoding: {
    status: 415,
    title: 'Content-Encoding not supported',
    action: 'Send the body without Content-Encoding.',
  },
  headers_too_large: {
    status: 431,
    title: 'Headers or URL too large',
    action: 'Keep headers and URL below 16 KiB.',
  },
  internal: { status: 503, title: 'Unexpected failure', action: 'Send it again; see the log if it repeats.' },
  overloaded: { status: 503, title: 'Overloaded', action: 'Send it again after Retry-After.' },
  store_unavailable: {
    status: 503,
    title: 'Store unavailable',
    action: 'Send it again after Retry-After; see /readyz.',
  },
  commit_deadline: {
    status: 503,
    title: 'Commit took too long',
    action: 'Send it again after Retry-After; a stored receipt is recognized.',
  },
  paused: {
    status: 503,
    title: 'Pack paused',
    action: 'Send it again after Retry-After, or resume the pack.',
  },
  draining: {
    status: 503,
    title: 'Shutting down',
    action: 'Send it again after Retry-After, to another process.',
  },
  // configuration and packs
  invalid_pack: { status: null, title: 'Invalid pack', action: 'Correct what the message names.' },
  invalid_configuration: {
    status: null,
    title: 'Invalid configuration',
    action: 'Correct every setting named in the message.',
  },
  // store
  durability_refused: {
    status: null,
    title: 'Settings would lose commits',
    action: 'Set the named option, or start with --unsafe-durability and accept the loss.',
  },
  unsupported_engine: {
    status: null,
    title: 'Database not supported',
    action: 'Use SQLite, MySQL 8, MariaDB >= 10.11 or TiDB >= 8.5.6.',
  },
  network_file_system: {
    status: null,
    title: 'SQLite on a network file system',
    action: 'Put the file on a local disk, or use mysql://.',
  },
  database_in_use: {
    status: null,
    title: 'Another process serves this file',
    action: 'Stop the other process, or use mysql:// for several.',
  },
  schema_missing: { status: null, title: 'Schema not migrated', action: 'Run lanehead migrate up.' },
  coverage_gap: {
    status: null,
    title: 'Events without a WorkItem',
    action: 'Let their provider deliver them again; a redelivery repairs them.',
  },
  schema_newer: { status: null, title: 'Database newer than this binary', action: 'Upgrade this binary.' },
  migration_changed: {
    status: null,
    title: 'An applied migration differs',
    action: 'Restore the migration file; write a new one for changes.',
  },
  not_idle: {
    status: null,
    title: 'Work is left',
    action: 'Give it more time; lanehead stats shows what is left.',
  },
  not_found: { status: 404, title: 'Not found', action: 'Check the id.' },
  invalid_argument: {
    status: null,
    title: 'Invalid argument',
    action: 'Correct the argument named in the message.',
  },
} as const satisfies Record<string, { status: number | null; title: string; action: string }>;

export type ErrorCode = keyof typeof ERRORS;

/** Every failure that Lanehead reports on purpose. `detail` says which field, row or setting; it holds no secret. */
export class LaneheadError extends Error {
  readonly code: ErrorCode;
  readonly #action: string | undefined;

  /** @param options `action`: what to do in this case, where the table's word does not fit */
  constructor(code: ErrorCode, detail: string, options?: ErrorOptions & { readonly action?: string }) {
    super(detail, options);
    this.name = 'LaneheadError';
    this.code = code;
    this.#action = options?.action;
  }

  get action(): string {
    return this.#action ?? ERRORS[this.code].action;
  }

  get status(): number | null {
    return ERRORS[this.code].status;
  }
}

export function isLaneheadError(error: unknown, code?: ErrorCode): error is LaneheadError {
  return error instanceof LaneheadError && (code === undefined || error.code === code);
}
