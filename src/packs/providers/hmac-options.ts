import { z } from 'zod';
import { anyOf, evenWithOtherFaults, text } from '../schema-parts.js';
import { checkOptions, optionsOf, secretSource, toleranceMs, urlSource } from '../scheme-options.js';
import type { SignedContent } from '../signed-content.js';
import type { SecretScope, SecretSource } from '../types.js';

/** One URL, or one for each namespace. */
export type HmacUrl = string | ((scope: SecretScope) => string | undefined);

export interface HmacOptions {
  readonly secret: SecretSource;
  /** For audit and counters. Default `hmac`. */
  readonly name?: string;
  /** The header that carries the signature; any case. */
  readonly header: string;
  /** Default `sha256`. `sha1` only for providers that offer nothing else. */
  readonly algorithm?: 'sha1' | 'sha256' | 'sha512';
  /** Default `hex`, in either case. */
  readonly encoding?: 'hex' | 'base64' | 'base64url';
  /** What stands before the encoded signature, as `sha256=`. Default: nothing. */
  readonly prefix?: string;
  /** Default `{body}`. */
  readonly signed?: SignedContent;
  /** The URL as configured at the provider, for `{url}`. */
  readonly url?: HmacUrl;
  /** Refuses requests whose signed timestamp is missing, no number, or too far from now on either side. */
  readonly timestamp?: {
    readonly header: string;
    /** Default `seconds`. */
    readonly unit?: 'seconds' | 'milliseconds';
    /** Default 300,000 (5 minutes); > 0. */
    readonly toleranceMs?: number;
  };
}

const headerName = z.custom<string>(
  (value) => typeof value === 'string' && /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value),
  { error: 'must be a header name', abort: false },
);

const signedContent = z.custom<SignedContent>(
  (value) => typeof value === 'string' || typeof value === 'function',
  { error: 'must be a template or a function', abort: false },
);

const schema = optionsOf({
  secret: secretSource,
  name: text.optional(),
  header: headerName,
  algorithm: anyOf(['sha1', 'sha256', 'sha512']).optional(),
  encoding: anyOf(['hex', 'base64', 'base64url']).optional(),
  prefix: text.optional(),
  url: urlSource.optional(),
  timestamp: optionsOf({
    header: headerName,
    unit: anyOf(['seconds', 'milliseconds']).optional(),
    toleranceMs,
  }).optional(),
  signed: signedContent.optional(),
})
  .refine(
    (options) => !signs(options, '{url}') || options.url !== undefined,
    fault('{url} needs the option url'),
  )
  .refine(
    (options) => !signs(options, '{timestamp}') || options.timestamp !== undefined,
    fault('{timestamp} needs the option timestamp'),
  )
  // A timestamp outside the signature can be set by anyone, so it would guard nothing.
  .refine(
    (options) =>
      options.timestamp === undefined ||
      typeof options.signed === 'function' ||
      signs(options, '{timestamp}'),
    fault('must contain {timestamp}'),
  );

function signs(
  { signed = '{body}' }: { readonly signed?: SignedContent | undefined },
  placeholder: string,
): boolean {
  return typeof signed === 'string' && signed.includes(placeholder);
}

function fault(error: string) {
  return { ...evenWithOtherFaults, path: ['signed'], error };
}

/** @throws LaneheadError `invalid_pack` naming every wrong option at once. */
export function checkHmacOptions(options: HmacOptions): void {
  checkOptions('hmac', schema, options);
}
