/** How a process is set up; the same in all its lives. */
export interface ProcessTraits {
  readonly role: 'all' | 'ingress' | 'worker';
  /** The keeper has a thread of its own, as it has in a server. */
  readonly ownKeeper: boolean;
  readonly workers: number;
  readonly skewMs: number;
  readonly latenessMs: number;
  readonly gatherMs: number;
}
