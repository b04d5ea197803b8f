import type { Limits as DeclaredLimits } from '../../src/core/limits.js';
import type { SupervisorSettings } from '../../src/supervisor/supervisor-settings.js';
import type { Faults } from './faults.js';
import type { Hardships } from './hardships.js';
import type { Ledger } from './ledger.js';
import type { LimitRules } from './limit-rules.js';
import type { Pressure } from './pressure.js';
import type { RowAudit } from './row-audit.js';
import type { SharedDatabase } from './shared-database.js';
import type { AdmissionTraits } from './virtual-admission.js';
import type { World } from './world.js';

export interface Limits {
  readonly deadlineMs: number;
  readonly abandonMs: number;
}

/** What all processes of a world share. */
export interface Scene {
  readonly world: World;
  readonly database: SharedDatabase;
  readonly audit: RowAudit;
  readonly ledger: Ledger;
  readonly faults: Faults;
  readonly hardships: Hardships;
  /** The database cannot be reached until then. */
  readonly outage: { until: number };
  /** Since when an installation is paused; of the world. */
  readonly paused: Map<number, number>;
  readonly settings: SupervisorSettings;
  readonly limits: Limits;
  /** What the pack declares for its flows. */
  readonly declared: DeclaredLimits | null;
  readonly limitRules: LimitRules;
  readonly pressure: Pressure;
  /** In which the pack is installed. */
  readonly namespaces: readonly string[];
  readonly admission: AdmissionTraits;
  readonly statementMs: number;
  /** Factor of how long flows take. */
  readonly pace: number;
  /** Of the routes of a version of the pack; two versions after each other may share it. */
  readonly routeVersionOf: (version: number) => number;
  /** Dead generations of a projection are held. */
  readonly parks: boolean;
}
