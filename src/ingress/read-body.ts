import type { Readable } from 'node:stream';

/** `truncated`: the sender went away first. Nothing of the three is kept. */
export type BodyReading = Buffer | 'too_large' | 'overloaded' | 'truncated';

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
    const chunks: Buffer[] = [];
    let received = 0;
    const settle = (reading: BodyReading): void => {
      source.off('data', onData).off('end', onEnd).off('close', onClose);
      resolve(reading);
    };
    const stop = (reading: BodyReading): void => {
      source.pause();
      settle(reading);
    };
    const onData = (chunk: Buffer): void => {
      received += chunk.length;
      if (received > limitBytes) stop('too_large');
      else if (!grow(chunk.length)) stop('overloaded');
      else chunks.push(chunk);
    };
    // A body in one piece (the rule at webhook sizes) is taken as it is, without a copy.
    const onEnd = (): void => settle(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, received));
    const onClose = (): void => settle('truncated');
    // The error is what `close` after it reports too; unheard it would end the process.
    source.on('error', () => {});
    source.on('data', onData).on('end', onEnd).on('close', onClose);
    if (source.destroyed) onClose();
  });
}
