/** Hooks of a process in which one module of the product is replaced by a broken one; files stay as they are. */
import { readFile } from 'node:fs/promises';

interface Broken {
  /** Of the compiled module. */
  readonly url: string;
  /** File with what takes its place. */
  readonly source: string;
}

let broken: Broken;

export function initialize(data: Broken): void {
  broken = data;
}

type Load = (url: string, context: object) => Promise<object>;

export async function load(url: string, context: object, next: Load): Promise<object> {
  if (url !== broken.url) return next(url, context);
  return { format: 'module', source: await readFile(broken.source), shortCircuit: true };
}
