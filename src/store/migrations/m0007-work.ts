import type { Migration } from './migration.js';

/*
 * The work. What an index needs is derived by the database in generated columns, so that no statement can forget
 * to keep it in step:
 *
 *   Bucket, BucketOrder  the one queue index. Open items lie in `ready:<class>` by LaneOrdinal, `delayed` by
 *                        RunAfter, `processing` by LeaseUntil, and `blocked`, `queued`, `held` by LaneOrdinal.
 *                        A scan reads the head of one range and never walks what cannot run. Terminal items: NULL.
 *   <Lane>OpenKey        the lane while the item is open and takes part in it; a queued projection successor does not.
 *   LaneRank             0 for the item in processing, else LaneOrdinal. So the first entry of a lane is what runs
 *                        or may run next, one probe answers "is it the head", and the unique key makes a second
 *                        row in processing in a lane impossible (OWN-2).
 *   ProjectionQueuedKey  at most one queued generation per projection key (PRJ-2).
 *
 * `Readiness` is kept by statements and is only a hint: 0 blocked, 1 head but not due, 2 head and due. The claim's
 * CAS evaluates the real predicate. 0 by default, so that rows of older writers are found by the repair sweep.
 * Generated columns are STORED on MySQL (indexed virtual ones have had purge bugs in MariaDB) and cost nothing as
 * VIRTUAL on SQLite. Indexes are partial on SQLite; on MySQL the NULL entries lie apart.
 */

const PARTICIPATES = `(State IN ('processing', 'held')
      OR (State = 'pending' AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL)))`;

const BUCKET = (concat: (a: string, b: string) => string) => `CASE
      WHEN State = 'processing' THEN 'processing'
      WHEN State = 'held' THEN 'held'
      WHEN State <> 'pending' THEN NULL
      WHEN ProjectionKey IS NOT NULL AND ProjectionActiveKey IS NULL THEN 'queued'
      WHEN Readiness = 2 THEN ${concat("'ready:'", 'QueueClass')}
      WHEN Readiness = 1 THEN 'delayed'
      ELSE 'blocked' END`;

const BUCKET_ORDER = `CASE
      WHEN State = 'processing' THEN COALESCE(LeaseUntil, 0)
      WHEN State = 'pending' AND Readiness = 1
        AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL) THEN RunAfter
      ELSE LaneOrdinal END`;

const openKey = (column: string) => `CASE WHEN ${PARTICIPATES} THEN ${column} END`;
const LANE_RANK = `CASE WHEN State = 'processing' THEN 0 ELSE LaneOrdinal END`;
const QUEUED_KEY = `CASE WHEN State = 'pending' AND ProjectionActiveKey IS NULL THEN ProjectionKey END`;

const ascii = (length: number) => `VARCHAR(${length}) CHARACTER SET ascii COLLATE ascii_bin`;

export const workItemTable: Migration = {
  id: '0007_connector_work_item',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorWorkItem (
      WorkId TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Generation INTEGER NOT NULL,
      EventId TEXT NOT NULL,
      WorkType TEXT NOT NULL,
      Route TEXT NOT NULL,
      RouteVersion INTEGER NOT NULL,
      QueueClass TEXT NOT NULL,
      IdempotencyKey BLOB NOT NULL,
      State TEXT NOT NULL DEFAULT 'pending',
      Readiness INTEGER NOT NULL DEFAULT 0,
      RunAfter INTEGER NOT NULL DEFAULT 0,
      LeaseUntil INTEGER,
      LeaseToken TEXT,
      LeaseHolder TEXT,
      OwnershipEpoch INTEGER NOT NULL DEFAULT 0,
      Attempt INTEGER NOT NULL DEFAULT 0,
      Failures INTEGER NOT NULL DEFAULT 0,
      FailureBudget INTEGER NOT NULL DEFAULT 8,
      OnDead TEXT NOT NULL DEFAULT 'advance',
      LaneKey TEXT,
      LaneOrdinal INTEGER NOT NULL,
      DeliveryLaneKey TEXT,
      DeliveryOrdinal INTEGER NOT NULL DEFAULT 0,
      TargetLaneKey TEXT,
      ProjectionKey TEXT,
      ProjectionActiveKey TEXT,
      ProjectionGeneration INTEGER,
      SupersededBy TEXT,
      ReplayedAt INTEGER,
      LastErrorCode TEXT,
      LastError TEXT,
      CreatedDate INTEGER NOT NULL,
      TerminalDate INTEGER,
      Bucket TEXT GENERATED ALWAYS AS (${BUCKET((a, b) => `${a} || ${b}`)}) VIRTUAL,
      BucketOrder INTEGER GENERATED ALWAYS AS (${BUCKET_ORDER}) VIRTUAL,
      LaneRank INTEGER GENERATED ALWAYS AS (${LANE_RANK}) VIRTUAL,
      LaneOpenKey TEXT GENERATED ALWAYS AS (${openKey('LaneKey')}) VIRTUAL,
      DeliveryOpenKey TEXT GENERATED ALWAYS AS (${openKey('DeliveryLaneKey')}) VIRTUAL,
      TargetOpenKey TEXT GENERATED ALWAYS AS (${openKey('TargetLaneKey')}) VIRTUAL,
      ProjectionQueuedKey TEXT GENERATED ALWAYS AS (${QUEUED_KEY}) VIRTUAL,
      CONSTRAINT uniq_connector_work_item_event_type UNIQUE (EventId, WorkType)
    ) STRICT, WITHOUT ROWID`,
    `CREATE INDEX IF NOT EXISTS ix_connector_work_item_bucket ON _System_ConnectorWorkItem
      (PackId, WorkType, Bucket, BucketOrder, RunAfter, CreatedDate, WorkId) WHERE Bucket IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS uniq_connector_work_item_lane ON _System_ConnectorWorkItem
      (LaneOpenKey, LaneRank) WHERE LaneOpenKey IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS uniq_connector_work_item_delivery ON _System_ConnectorWorkItem
      (DeliveryOpenKey, LaneRank) WHERE DeliveryOpenKey IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS uniq_connector_work_item_target ON _System_ConnectorWorkItem
      (TargetOpenKey, LaneRank) WHERE TargetOpenKey IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS uniq_connector_work_item_projection_active ON _System_ConnectorWorkItem
      (ProjectionActiveKey) WHERE ProjectionActiveKey IS NOT NULL`,
    `CREATE UNIQUE INDEX IF NOT EXISTS uniq_connector_work_item_projection_queued ON _System_ConnectorWorkItem
      (ProjectionQueuedKey) WHERE ProjectionQueuedKey IS NOT NULL`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorWorkItem (
      WorkId ${ascii(32)} NOT NULL,
      PackId BIGINT NOT NULL,
      Generation BIGINT NOT NULL,
      EventId ${ascii(32)} NOT NULL,
      WorkType ${ascii(32)} NOT NULL,
      Route ${ascii(64)} NOT NULL,
      RouteVersion INT NOT NULL,
      QueueClass ${ascii(16)} NOT NULL,
      IdempotencyKey BINARY(32) NOT NULL,
      State ${ascii(16)} NOT NULL DEFAULT 'pending',
      Readiness TINYINT NOT NULL DEFAULT 0,
      RunAfter BIGINT NOT NULL DEFAULT 0,
      LeaseUntil BIGINT,
      LeaseToken ${ascii(64)},
      LeaseHolder VARCHAR(128),
      OwnershipEpoch BIGINT NOT NULL DEFAULT 0,
      Attempt INT NOT NULL DEFAULT 0,
      Failures INT NOT NULL DEFAULT 0,
      FailureBudget INT NOT NULL DEFAULT 8,
      OnDead ${ascii(8)} NOT NULL DEFAULT 'advance',
      LaneKey ${ascii(40)},
      LaneOrdinal BIGINT NOT NULL,
      DeliveryLaneKey ${ascii(40)},
      DeliveryOrdinal INT NOT NULL DEFAULT 0,
      TargetLaneKey ${ascii(40)},
      ProjectionKey ${ascii(40)},
      ProjectionActiveKey ${ascii(40)},
      ProjectionGeneration BIGINT,
      SupersededBy ${ascii(32)},
      ReplayedAt BIGINT,
      LastErrorCode ${ascii(64)},
      LastError TEXT,
      CreatedDate BIGINT NOT NULL,
      TerminalDate BIGINT,
      Bucket ${ascii(24)} GENERATED ALWAYS AS (${BUCKET((a, b) => `CONCAT(${a}, ${b})`)}) STORED,
      BucketOrder BIGINT GENERATED ALWAYS AS (${BUCKET_ORDER}) STORED,
      LaneRank BIGINT GENERATED ALWAYS AS (${LANE_RANK}) STORED,
      LaneOpenKey ${ascii(40)} GENERATED ALWAYS AS (${openKey('LaneKey')}) STORED,
      DeliveryOpenKey ${ascii(40)} GENERATED ALWAYS AS (${openKey('DeliveryLaneKey')}) STORED,
      TargetOpenKey ${ascii(40)} GENERATED ALWAYS AS (${openKey('TargetLaneKey')}) STORED,
      ProjectionQueuedKey ${ascii(40)} GENERATED ALWAYS AS (${QUEUED_KEY}) STORED,
      PRIMARY KEY (WorkId) /*T![clustered_index] CLUSTERED */,
      UNIQUE KEY uniq_connector_work_item_event_type (EventId, WorkType),
      UNIQUE KEY uniq_connector_work_item_lane (LaneOpenKey, LaneRank),
      UNIQUE KEY uniq_connector_work_item_delivery (DeliveryOpenKey, LaneRank),
      UNIQUE KEY uniq_connector_work_item_target (TargetOpenKey, LaneRank),
      UNIQUE KEY uniq_connector_work_item_projection_active (ProjectionActiveKey),
      UNIQUE KEY uniq_connector_work_item_projection_queued (ProjectionQueuedKey),
      KEY ix_connector_work_item_bucket (PackId, WorkType, Bucket, BucketOrder, RunAfter, CreatedDate, WorkId)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** Every projection key ever seen and its last generation; outlives its items (LEG-3, removal gate). */
export const projectionTable: Migration = {
  id: '0008_connector_projection',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_ConnectorProjection (
      ProjectionKey TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Route TEXT NOT NULL,
      SourceKey TEXT NOT NULL,
      Generation INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_ConnectorProjection (
      ProjectionKey ${ascii(40)} NOT NULL,
      PackId BIGINT NOT NULL,
      Route ${ascii(64)} NOT NULL,
      SourceKey VARCHAR(512) NOT NULL,
      Generation BIGINT NOT NULL,
      CreatedDate BIGINT NOT NULL,
      PRIMARY KEY (ProjectionKey) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};

/** Published shape of the older binaries; supervisor-managed work never reads it (LSE-1, NGO-3). */
export const schedulerLeaseTable: Migration = {
  id: '0009_scheduler_lease',
  additive: true,
  sqlite: [
    `CREATE TABLE IF NOT EXISTS _System_SchedulerLease (
      LeaseKey TEXT NOT NULL PRIMARY KEY,
      Holder TEXT NOT NULL,
      Token TEXT NOT NULL,
      Epoch INTEGER NOT NULL DEFAULT 0,
      LeaseUntil INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID`,
  ],
  mysql: `CREATE TABLE IF NOT EXISTS _System_SchedulerLease (
      LeaseKey VARCHAR(190) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
      Holder VARCHAR(128) NOT NULL,
      Token ${ascii(64)} NOT NULL,
      Epoch BIGINT NOT NULL DEFAULT 0,
      LeaseUntil BIGINT NOT NULL,
      UpdatedDate BIGINT NOT NULL,
      PRIMARY KEY (LeaseKey) /*T![clustered_index] CLUSTERED */
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin`,
};
