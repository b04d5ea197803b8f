import type { Readable } from 'node:stream';
import { BodyBuffer } from './body-buffer.js';

/**
 * `truncated`: the sender went away first. `fragmented`: it came in too many pieces. Nothing of the four is kept.
 */
export type BodyReading = Buffer | 'too_large' | 'fragmented' | 'overloaded' | 'truncated';

/**
 * Each piece costs the parser and this reader some microseconds, whatever is in it. Whoever streams words comes in under
 * the first, whoever streams anything longer under the second.
 */
const FREE_PIECES = 4_096;
const BYTES_PER_PIECE = 64;

/**
 * Reads a body of at most `limitBytes`. `grow` is asked for every chunk and stops the reading with `overloaded`.
 * Stops reading as soon as it knows; what is left in the stream stays there, paused.
 */
export function readBody(
  source: Readable,
  limitBytes: number,
  grow: (bytes: number) => boolean,
): Promise<BodyReading> {
  return new Promise((resolve) => {
    const body = new BodyBuffer();
    let pieces = 0;
    const settle = (reading: BodyReading): void => {
      source.off('data', onData).off('end', onEnd).off('close', onClose);
      resolve(reading);
    };
    const stop = (reading: BodyReading): void => {
      source.pause();
      settle(reading);
    };
    const onData = (piece: Buffer): void => {
      pieces += 1;
      if (body.bytes + piece.length > limitBytes) stop('too_large');
      else if (pieces > FREE_PIECES + body.bytes / BYTES_PER_PIECE) stop('fragmented');
      else if (!grow(piece.length)) stop('overloaded');
      else body.append(piece);
    };
    const onEnd = (): void => settle(body.join());
    const onClose = (): void => settle('truncated');
    // The error is what `close` after it reports too; unheard it would end the process.
    source.on('error', () => {});
    source.on('data', onData).on('end', onEnd).on('close', onClose);
    if (source.destroyed) onClose();
  });
}
