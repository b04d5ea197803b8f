import { createHmac } from 'node:crypto';
import { SECRET } from '../support/push-route.js';

/** A request as it is drawn: plain data, so that a failing script can be shrunk and printed. One character, one byte. */
export interface DrawnRequest {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  /** Whole lines, without their ends. */
  readonly headers: readonly string[];
  readonly body: string;
  readonly signature: 'good' | 'bad' | 'none';
  /** Two of a script with the same number are the same delivery. */
  readonly delivery: number;
  readonly framing: Framing;
  readonly lineEnd: string;
}

export type Framing =
  | { readonly kind: 'none' }
  /** `off`: what the announced length is wrong by. */
  | { readonly kind: 'length'; readonly off: number }
  | { readonly kind: 'chunked'; readonly chunks: readonly Chunk[]; readonly trailers: readonly string[] }
  | { readonly kind: 'both'; readonly chunks: readonly Chunk[] };

export interface Chunk {
  readonly bytes: number;
  /** In place of the size in hex. */
  readonly size?: string;
  readonly extension?: string;
  readonly lineEnd?: string;
}

export const PUSH = '/in/acme/code/push';
export const SUBSCRIBE = '/in/acme/code/meta?hub.mode=subscribe&hub.challenge=1&hub.verify_token=';

/** `name` makes the deliveries of one script differ from those of all others. */
export function serialize(request: DrawnRequest, name: string): string {
  const { method, target, version, headers, body, signature, delivery, framing, lineEnd } = request;
  const lines = [`${method} ${target} ${version}`, ...headers, `X-GitHub-Delivery: ${name}-${delivery}`];
  if (signature !== 'none') {
    const secret = signature === 'good' ? SECRET : 'another';
    const digest = createHmac('sha256', secret).update(Buffer.from(body, 'latin1')).digest('hex');
    lines.push(`X-Hub-Signature-256: sha256=${digest}`);
  }
  if (framing.kind === 'length') lines.push(`Content-Length: ${body.length + framing.off}`);
  if (framing.kind === 'both') lines.push(`Content-Length: ${body.length}`);
  if (framing.kind === 'both' || framing.kind === 'chunked') lines.push('Transfer-Encoding: chunked');
  return [...lines, '', framed(body, framing)].join(lineEnd);
}

function framed(body: string, framing: Framing): string {
  if (framing.kind === 'none' || framing.kind === 'length') return body;
  let text = '';
  let at = 0;
  for (const { bytes, size, extension = '', lineEnd = '\r\n' } of [
    ...framing.chunks,
    { bytes: body.length },
  ]) {
    const piece = body.slice(at, at + bytes);
    at += piece.length;
    // An empty chunk would be the last.
    if (piece !== '' || size !== undefined)
      text += `${size ?? piece.length.toString(16)}${extension}${lineEnd}${piece}${lineEnd}`;
  }
  const trailers = framing.kind === 'chunked' ? framing.trailers : [];
  return `${text}0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`;
}
