import { sameSecret } from '../compare.js';
import { jsonObject, tryParseJson } from '../safe-json.js';
import { requireSecrets, secretsOf } from '../secrets.js';
import type { SecretSource, SignatureScheme, UnverifiedRequest, Verification } from '../types.js';
import { handshake, refused, scheme, textAnswer, VERIFIED } from '../verdict.js';

/**
 * Microsoft Graph change and lifecycle notifications: every notification of a request must carry the subscription's
 * `clientState`; a request with `?validationToken` is answered with the decoded token.
 * This is a shared secret, not a signature: it says who sends, and nothing about the rest of the body.
 */
export function microsoftGraph(options: { readonly clientState: SecretSource }): SignatureScheme {
  function verify(request: UnverifiedRequest): Verification {
    const validationToken = request.query.get('validationToken');
    if (validationToken !== null) return handshake(textAnswer(validationToken));
    const expected = secretsOf(options.clientState, request);
    if (expected.length === 0) return refused('secret_unavailable');
    const states = clientStates(request.body);
    if (states.length === 0) return refused('signature_missing');
    const genuine = states.every((state) => expected.some((secret) => sameSecret(secret, state)));
    return genuine ? VERIFIED : refused('signature_mismatch');
  }

  return scheme({
    name: 'microsoft_graph',
    methods: ['POST'],
    // The token stands in the query.
    handshakeBytes: 0,
    prepare: (scope) => requireSecrets(options.clientState, scope, 'clientState'),
    verify,
  });
}

/** One entry for each notification; `''` for one without a state. */
function clientStates(body: Uint8Array): readonly string[] {
  const notifications = jsonObject(tryParseJson(body))?.value;
  if (!Array.isArray(notifications)) return [];
  return notifications.map((notification) => {
    const state = jsonObject(notification)?.clientState;
    return typeof state === 'string' ? state : '';
  });
}
