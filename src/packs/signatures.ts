import { basic } from './providers/basic.js';
import { dropbox } from './providers/dropbox.js';
import { github } from './providers/github.js';
import { hmac } from './providers/hmac.js';
import { hubspot } from './providers/hubspot.js';
import { intercom } from './providers/intercom.js';
import { mailgun } from './providers/mailgun.js';
import { meta } from './providers/meta.js';
import { microsoftGraph } from './providers/microsoft-graph.js';
import { shopify } from './providers/shopify.js';
import { slack } from './providers/slack.js';
import { square } from './providers/square.js';
import { standardWebhooks } from './providers/standard-webhooks.js';
import { stripe } from './providers/stripe.js';
import { zoom } from './providers/zoom.js';
import { anyOf, text } from './schema-parts.js';
import { checked, secretSource, toleranceMs, urlSource } from './scheme-options.js';

export type { HmacHandshake } from './providers/hmac.js';
export type { HmacOptions, HmacUrl } from './providers/hmac-options.js';
export { mailgunToken } from './providers/mailgun.js';
export type { SignedContent, SignedParts } from './signed-content.js';

const secret = secretSource;

/**
 * The signature schemes a route's `verify` can be; `hmac` for every provider that has no name here. Each throws
 * `invalid_pack` naming every wrong or unknown option.
 */
export const signatures = Object.freeze({
  basic: checked('basic', basic, { username: text, password: secret }),
  dropbox: checked('dropbox', dropbox, { secret }),
  github: checked('github', github, { secret }),
  hmac,
  hubspot: checked('hubspot', hubspot, { secret, url: urlSource }),
  intercom: checked('intercom', intercom, { secret }),
  mailgun: checked('mailgun', mailgun, { secret, toleranceMs }),
  meta: checked('meta', meta, { secret, verifyToken: secret }),
  microsoftGraph: checked('microsoftGraph', microsoftGraph, { clientState: secret }),
  shopify: checked('shopify', shopify, { secret }),
  slack: checked('slack', slack, { secret }),
  square: checked('square', square, { secret, url: urlSource }),
  standardWebhooks: checked('standardWebhooks', standardWebhooks, {
    secret,
    headerPrefix: anyOf(['webhook', 'svix']).optional(),
    toleranceMs,
  }),
  stripe: checked('stripe', stripe, { secret, toleranceMs }),
  zoom: checked('zoom', zoom, { secret }),
});
