import { sign as signGithub } from '@octokit/webhooks-methods';
import { Webhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { signatures } from '../../src/packs/signatures.js';
import type { SecretSource, SignatureScheme } from '../../src/packs/types.js';
import { mac, NOW, NOW_SECONDS, type RequestInput } from './request-parts.js';

type Body = string | Uint8Array;

/** One scheme with a signer of its own; the signer is the provider's library where it has one. */
export interface SchemeCase {
  readonly name: string;
  readonly make: (secret: SecretSource) => SignatureScheme;
  readonly sign: (secret: string, body: Body) => RequestInput | Promise<RequestInput>;
  /** `null`: any bytes do. A text: what its signer can sign; `''`: the signer makes the body. */
  readonly body: string | null;
  /** Its timestamp is part of what is signed. */
  readonly signAt?: (secret: string, timestamp: string, body: Body) => RequestInput;
  /** Default: seconds. */
  readonly unit?: 'milliseconds';
}

/** Two secrets that every scheme takes. */
export const OLD = `whsec_${Buffer.from('an old key of this endpoint 0123').toString('base64')}`;
export const NEW = `whsec_${Buffer.from('a new key of this endpoint 45678').toString('base64')}`;
export const URL_AT_PROVIDER = 'https://hooks.example.com/in/acme/connector/events?x=1';

const url = URL_AT_PROVIDER;
const json = { 'content-type': 'application/json' };
const stripe = new Stripe('sk_test_unused');

export function signStripe(secret: string, timestamp: string, body: Body): RequestInput {
  const payload = Buffer.from(body as string).toString('utf8');
  const header = stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp: Number(timestamp) });
  return { headers: { ...json, 'Stripe-Signature': header }, body };
}

export function signStandard(secret: string, timestamp: string, body: Body): RequestInput {
  const signature = new Webhook(secret).sign(
    'msg_1',
    new Date(Number(timestamp) * 1_000),
    Buffer.from(body as string),
  );
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  return { headers: { ...json, ...headers }, body };
}

export function signSlack(secret: string, timestamp: string, body: Body): RequestInput {
  const signature = `v0=${mac('sha256', secret, 'hex', `v0:${timestamp}:`, body)}`;
  return { headers: { 'X-Slack-Signature': signature, 'X-Slack-Request-Timestamp': timestamp }, body };
}

export function signZoom(secret: string, timestamp: string, body: Body): RequestInput {
  const signature = `v0=${mac('sha256', secret, 'hex', `v0:${timestamp}:`, body)}`;
  return { headers: { 'x-zm-signature': signature, 'x-zm-request-timestamp': timestamp }, body };
}

export function signHubspot(secret: string, timestamp: string, body: Body): RequestInput {
  const signature = mac('sha256', secret, 'base64', 'POST', url, body, timestamp);
  const headers = { 'X-HubSpot-Signature-v3': signature, 'X-HubSpot-Request-Timestamp': timestamp };
  return { headers, body };
}

export function mailgunSignature(secret: string, timestamp: string, token: string) {
  return { timestamp, token, signature: mac('sha256', secret, 'hex', timestamp, token) };
}

function signMailgun(secret: string, timestamp: string): RequestInput {
  const signature = mailgunSignature(secret, timestamp, 'token-1');
  return { headers: json, body: JSON.stringify({ signature, 'event-data': { event: 'opened' } }) };
}

function header(name: string, value: string, body: Body): RequestInput {
  return { headers: { [name]: value }, body };
}

const basicHeader = (password: string): string =>
  `Basic ${Buffer.from(`lanehead:${password}`).toString('base64')}`;

export const SCHEMES: readonly SchemeCase[] = [
  {
    name: 'github',
    make: (secret) => signatures.github({ secret }),
    sign: async (secret, body) =>
      header('X-Hub-Signature-256', await signGithub(secret, body as string), body),
    body: '{"action":"opened"}',
  },
  {
    name: 'stripe',
    make: (secret) => signatures.stripe({ secret }),
    sign: (secret, body) => signStripe(secret, NOW_SECONDS, body),
    signAt: signStripe,
    body: '{"object":"event"}',
  },
  {
    name: 'standard_webhooks',
    make: (secret) => signatures.standardWebhooks({ secret }),
    sign: (secret, body) => signStandard(secret, NOW_SECONDS, body),
    signAt: signStandard,
    body: '{"type":"contact.created"}',
  },
  {
    name: 'hmac',
    make: (secret) =>
      signatures.hmac({ secret, header: 'x-signature', algorithm: 'sha512', encoding: 'base64url' }),
    sign: (secret, body) => header('X-Signature', mac('sha512', secret, 'base64url', body), body),
    body: null,
  },
  {
    name: 'slack',
    make: (secret) => signatures.slack({ secret }),
    sign: (secret, body) => signSlack(secret, NOW_SECONDS, body),
    signAt: signSlack,
    body: null,
  },
  {
    name: 'zoom',
    make: (secret) => signatures.zoom({ secret }),
    sign: (secret, body) => signZoom(secret, NOW_SECONDS, body),
    signAt: signZoom,
    body: null,
  },
  {
    name: 'hubspot',
    make: (secret) => signatures.hubspot({ secret, url }),
    sign: (secret, body) => signHubspot(secret, String(NOW), body),
    signAt: signHubspot,
    unit: 'milliseconds',
    body: null,
  },
  {
    name: 'square',
    make: (secret) => signatures.square({ secret, url }),
    sign: (secret, body) =>
      header('X-Square-HmacSha256-Signature', mac('sha256', secret, 'base64', url, body), body),
    body: null,
  },
  {
    name: 'shopify',
    make: (secret) => signatures.shopify({ secret }),
    sign: (secret, body) => header('X-Shopify-Hmac-Sha256', mac('sha256', secret, 'base64', body), body),
    body: null,
  },
  {
    name: 'intercom',
    make: (secret) => signatures.intercom({ secret }),
    sign: (secret, body) => header('X-Hub-Signature', `sha1=${mac('sha1', secret, 'hex', body)}`, body),
    body: null,
  },
  {
    name: 'meta',
    make: (secret) => signatures.meta({ secret, verifyToken: 'verify-me' }),
    sign: (secret, body) =>
      header('X-Hub-Signature-256', `sha256=${mac('sha256', secret, 'hex', body)}`, body),
    body: null,
  },
  {
    name: 'dropbox',
    make: (secret) => signatures.dropbox({ secret }),
    sign: (secret, body) => header('X-Dropbox-Signature', mac('sha256', secret, 'hex', body), body),
    body: null,
  },
  {
    name: 'mailgun',
    make: (secret) => signatures.mailgun({ secret }),
    sign: (secret) => signMailgun(secret, NOW_SECONDS),
    signAt: signMailgun,
    body: '',
  },
  {
    name: 'microsoft_graph',
    make: (secret) => signatures.microsoftGraph({ clientState: secret }),
    sign: (secret) => ({ headers: json, body: JSON.stringify({ value: [{ clientState: secret }] }) }),
    body: '',
  },
  {
    name: 'basic',
    make: (secret) => signatures.basic({ username: 'lanehead', password: secret }),
    sign: (secret, body) => header('Authorization', basicHeader(secret), body),
    body: null,
  },
];
