/** What injecting a fault takes beside the product, and may be missing on a machine. */
import { constants } from 'node:fs';
import { findProgram, firstUsable, installPackage, isRoot } from './debian.js';

/** A test's way to say that this machine cannot run it. */
export type Skip = (why: string) => never;

/** Where `CI` is set nothing is skipped: what is missing there fails. */
function missing(skip: Skip, why: string): never {
  if (process.env.CI) throw new Error(why);
  return skip(why);
}

const findStrace = (): string | undefined => findProgram('strace');

export function requireStrace(skip: Skip): void {
  if (findStrace() ?? (installPackage('strace') ? findStrace() : undefined)) return;
  missing(skip, 'strace is not installed');
}

const FAKETIME = 'faketime/libfaketimeMT.so.1';

/** Debian's places for it, by architecture. */
export const faketimeLibrary = (): string | undefined =>
  firstUsable(
    ['x86_64-linux-gnu', 'aarch64-linux-gnu'].map((machine) => `/usr/lib/${machine}/${FAKETIME}`),
    constants.R_OK,
  );

export function requireFaketime(skip: Skip): void {
  if (faketimeLibrary() ?? (installPackage('libfaketime') ? faketimeLibrary() : undefined)) return;
  missing(skip, 'libfaketime is not installed');
}

export function requireMount(skip: Skip): void {
  if (!isRoot()) missing(skip, 'mounting a small disk needs root');
}
