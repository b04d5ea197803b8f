import { readFileSync, watch } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Cancel, Clock } from '../core/clock.js';
import { digestParts } from '../core/identity.js';

export interface FileWatch {
  /** Resolves when the contents differ from what they were when the last one resolved. One waits at a time. */
  next(): Promise<void>;
  close(): void;
}

/** Editors write a file in several steps. */
const SETTLE_MS = 50;

/** Folders are watched, because many editors replace a file instead of writing into it. */
export function watchFiles(files: readonly string[], clock: Clock): FileWatch {
  const paths = files.map((file) => resolve(file));
  const names = new Set(paths.map((path) => basename(path)));
  let seen = contentsOf(paths);
  let changed = false;
  let notify: () => void = () => {};
  let cancel: Cancel = () => {};
  const look = (): void => {
    const now = contentsOf(paths);
    // A file that is gone is about to come back.
    if (now === null || now === seen) return;
    seen = now;
    changed = true;
    notify();
  };
  const watchers = [...new Set(paths.map((path) => dirname(path)))].map((folder) =>
    watch(folder, (_event, name) => {
      if (name !== null && !names.has(name)) return;
      cancel();
      cancel = clock.after(SETTLE_MS, look);
    }),
  );
  return {
    next: () =>
      new Promise((settle) => {
        notify = () => {
          changed = false;
          notify = () => {};
          settle();
        };
        if (changed) notify();
      }),
    close() {
      cancel();
      for (const watcher of watchers) watcher.close();
    },
  };
}

function contentsOf(paths: readonly string[]): string | null {
  try {
    return digestParts(paths.map((path) => readFileSync(path))).toString('hex');
  } catch {
    return null;
  }
}
