/** Endpoint checks of providers: each is answered, and none of them becomes a receipt. */
import { describe, expect, test } from 'vitest';
import { signatures } from '../../src/packs/signatures.js';
import { mac, NOW, NOW_SECONDS, SCOPE } from './request-parts.js';
import { answerOf, thrownBy, verdictOf, verified } from './requests.js';
import { NEW, OLD, signSlack, signZoom } from './signed-requests.js';

const nosniff = { 'x-content-type-options': 'nosniff' };
const text = (body: string) => ({
  status: 200,
  body,
  contentType: 'text/plain; charset=utf-8',
  headers: nosniff,
});
const html = '<script>alert(1)</script>';

describe('[handshake] Slack', () => {
  const slack = signatures.slack({ secret: [NEW, OLD] });
  const body = JSON.stringify({ token: 't', challenge: '3eZbrw1aBm2rZgRNFdxV', type: 'url_verification' });

  test('signed url_verification: the challenge', () => {
    expect(answerOf(slack, signSlack(NEW, NOW_SECONDS, body))).toEqual(text('3eZbrw1aBm2rZgRNFdxV'));
    expect(answerOf(slack, signSlack(OLD, NOW_SECONDS, body)).body).toBe('3eZbrw1aBm2rZgRNFdxV');
  });

  test('unsigned, wrongly signed or stale: 401', () => {
    expect(verdictOf(slack, { body })).toBe('401 signature_missing');
    expect(verdictOf(slack, signSlack('other', NOW_SECONDS, body))).toBe('401 signature_mismatch');
    expect(verdictOf(slack, signSlack(NEW, String(NOW / 1_000 - 301), body))).toMatch('401');
  });

  test.each([{ toString: 1 }, ['x'], 5, null])(
    'a challenge of %j, which is no text, is answered with none',
    (challenge) => {
      const signed = signSlack(NEW, NOW_SECONDS, JSON.stringify({ type: 'url_verification', challenge }));
      expect(answerOf(slack, signed).body).toBe('');
    },
  );

  test('an event that only speaks of url_verification is an event', () => {
    for (const event of [
      { type: 'event_callback', event: { text: '"type":"url_verification"' } },
      { event: { type: 'url_verification', challenge: 'x' } },
    ]) {
      expect(verified(slack, signSlack(NEW, NOW_SECONDS, JSON.stringify(event))).json()).toEqual(event);
    }
    expect(verdictOf(slack, signSlack(NEW, NOW_SECONDS, 'payload=url_verification'))).toBe('verified');
  });
});

describe('[handshake] Meta', () => {
  const meta = signatures.meta({ secret: NEW, verifyToken: ['new token', 'old token'] });
  const get = (query: string) => ({ method: 'GET', target: `/in/acme/connector/events?${query}` });

  test('GET with the right token: the bare challenge as text', () => {
    const query = 'hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=';
    expect(answerOf(meta, get(`${query}new+token`))).toEqual(text('1158201444'));
    expect(answerOf(meta, get(`${query}old%20token`)).body).toBe('1158201444');
    expect(meta.methods).toEqual(['POST', 'GET']);
  });

  test.each([
    'hub.mode=subscribe&hub.challenge=1&hub.verify_token=wrong',
    'hub.mode=subscribe&hub.challenge=1&hub.verify_token=',
    'hub.mode=subscribe&hub.challenge=1',
    'hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=new+token',
    'hub.challenge=1&hub.verify_token=new+token',
    'hub.mode=subscribe&hub.verify_token=new+token',
    '',
  ])('GET ?%s: 403', (query) => {
    expect(verdictOf(meta, get(query))).toBe('403 wrong_token');
  });

  test('a signed GET is no event either', () => {
    const headers = { 'x-hub-signature-256': `sha256=${mac('sha256', NEW, 'hex', '')}` };
    expect(verdictOf(meta, { ...get(''), headers })).toBe('403 wrong_token');
  });

  test('a POST with the query of a handshake needs its signature', () => {
    const query = 'hub.mode=subscribe&hub.challenge=1&hub.verify_token=new+token';
    expect(verdictOf(meta, { ...get(query), method: 'POST' })).toBe('401 signature_missing');
  });

  test('the verify token is a secret: without one nothing starts, and nothing matches', () => {
    const empty = signatures.meta({ secret: NEW, verifyToken: () => '' });
    const { code, message } = thrownBy(() => empty.prepare(SCOPE));
    expect(code).toBe('invalid_configuration');
    expect(message).toContain('namespace acme, pack connector, route events: the verifyToken is ');
    expect(verdictOf(empty, get('hub.mode=subscribe&hub.challenge=1&hub.verify_token='))).toBe(
      '403 wrong_token',
    );
    expect(
      thrownBy(() => signatures.meta({ secret: '', verifyToken: 'x' }).prepare(SCOPE)).message,
    ).toContain('the secret is');
  });
});

describe('[handshake] Microsoft Graph', () => {
  const graph = signatures.microsoftGraph({ clientState: [NEW, OLD] });
  const notify = (...states: unknown[]) => ({
    body: JSON.stringify({ value: states.map((clientState) => ({ clientState })) }),
  });

  test('?validationToken: decoded, as text', () => {
    const target = '/in/acme/connector/events?a=1&validationToken=Validation%3a+Testing%20%2B%C3%A9';
    expect(answerOf(graph, { target })).toEqual(text('Validation: Testing +é'));
    expect(answerOf(graph, { target, ...notify(NEW) }).body).toBe('Validation: Testing +é');
    expect(answerOf(graph, { target: `/x?validationToken=${encodeURIComponent(html)}` })).toEqual(text(html));
  });

  test('every notification needs the client state', () => {
    expect(verdictOf(graph, notify(NEW))).toBe('verified');
    expect(verdictOf(graph, notify(NEW, OLD, NEW))).toBe('verified');
    expect(verdictOf(graph, notify(NEW, 'other'))).toBe('401 signature_mismatch');
    for (const state of [undefined, null, '', 5, [NEW], { length: 1 }]) {
      expect(verdictOf(graph, notify(NEW, state))).toBe('401 signature_mismatch');
    }
  });

  test.each(['', 'not json', '[]', '{}', '{"value":[]}', '{"value":{"clientState":"x"}}', 'null'])(
    'a body %j without notifications: 401',
    (body) => {
      expect(verdictOf(graph, { body })).toBe('401 signature_missing');
    },
  );
});

describe('[handshake] Zoom', () => {
  const zoom = signatures.zoom({ secret: [NEW, OLD] });
  const body = JSON.stringify({
    event: 'endpoint.url_validation',
    payload: { plainToken: 'qgg8vlvZRS6UYooatFL8Aw' },
  });

  test('signed endpoint.url_validation: plain token and its HMAC in hex, by the secret that signed', () => {
    for (const secret of [NEW, OLD]) {
      const answer = answerOf(zoom, signZoom(secret, NOW_SECONDS, body));
      expect(answer.status).toBe(200);
      expect(answer.contentType).toBe('application/json');
      expect(JSON.parse(answer.body)).toEqual({
        plainToken: 'qgg8vlvZRS6UYooatFL8Aw',
        encryptedToken: mac('sha256', secret, 'hex', 'qgg8vlvZRS6UYooatFL8Aw'),
      });
    }
  });

  test('unsigned: 401, so that nobody gets a token signed', () => {
    expect(verdictOf(zoom, { body })).toBe('401 signature_missing');
    expect(verdictOf(zoom, signZoom('other', NOW_SECONDS, body))).toBe('401 signature_mismatch');
  });

  test('other events are events', () => {
    const event = JSON.stringify({ event: 'meeting.started', payload: { topic: 'endpoint.url_validation' } });
    expect(verdictOf(zoom, signZoom(NEW, NOW_SECONDS, event))).toBe('verified');
  });

  test('a plainToken that is no text counts as none', () => {
    const asked = { event: 'endpoint.url_validation', payload: { plainToken: { toString: 1 } } };
    const answer = answerOf(zoom, signZoom(NEW, NOW_SECONDS, JSON.stringify(asked)));
    expect(JSON.parse(answer.body)).toMatchObject({ plainToken: '' });
  });
});

describe('[handshake] Dropbox', () => {
  const dropbox = signatures.dropbox({ secret: NEW });

  test('GET ?challenge: the challenge as text that is not sniffed', () => {
    const target = `/in/acme/connector/events?challenge=${encodeURIComponent(html)}`;
    expect(answerOf(dropbox, { method: 'GET', target })).toEqual(text(html));
    expect(dropbox.methods).toEqual(['POST', 'GET']);
  });

  test('GET without a challenge is refused, signed or not', () => {
    const headers = { 'x-dropbox-signature': mac('sha256', NEW, 'hex', '') };
    expect(verdictOf(dropbox, { method: 'GET' })).toBe('403 challenge_missing');
    expect(verdictOf(dropbox, { method: 'GET', headers })).toBe('403 challenge_missing');
  });

  test('a POST with a challenge needs its signature', () => {
    expect(verdictOf(dropbox, { target: '/x?challenge=1' })).toBe('401 signature_missing');
  });
});
