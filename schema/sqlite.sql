CREATE TABLE _System_ConnectorAction (
      ActionId TEXT NOT NULL PRIMARY KEY,
      Kind TEXT NOT NULL,
      Actor TEXT NOT NULL,
      Reason TEXT NOT NULL,
      Target TEXT NOT NULL,
      TargetHash BLOB NOT NULL,
      Status TEXT NOT NULL DEFAULT 'running',
      Position TEXT,
      Matched INTEGER NOT NULL DEFAULT 0,
      Changed INTEGER NOT NULL DEFAULT 0,
      Skipped INTEGER NOT NULL DEFAULT 0,
      CreatedDate INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL,
      FinishedDate INTEGER
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorDrain (
      PackId INTEGER NOT NULL PRIMARY KEY
    ) STRICT;

CREATE TABLE _System_ConnectorEvent (
      EventId TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      ReceiptId TEXT,
      EventType TEXT NOT NULL,
      SourceKey TEXT NOT NULL,
      DeliveryKey TEXT NOT NULL,
      DeliveryOrdinal INTEGER NOT NULL DEFAULT 0,
      Route TEXT NOT NULL,
      RouteVersion INTEGER NOT NULL DEFAULT 1,
      IdempotencyKey BLOB NOT NULL,
      ContentHash BLOB,
      QueueClass TEXT NOT NULL DEFAULT 'default',
      Origin TEXT NOT NULL DEFAULT 'webhook',
      ParentId TEXT,
      ConflictOf TEXT,
      ReceivedDate INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL,
      Status TEXT NOT NULL DEFAULT 'pending',
      Attempt INTEGER NOT NULL DEFAULT 0,
      NextRetryDate INTEGER,
      ClaimToken TEXT,
      ClaimedBy TEXT,
      ClaimedDate INTEGER,
      ProcessedDate INTEGER,
      LastError TEXT,
      ReplayedAt INTEGER,
      ExecutionOwner TEXT NOT NULL DEFAULT 'event',
      Companion TEXT,
      Payload BLOB NOT NULL,
      CONSTRAINT uniq_connector_event_idempotency UNIQUE (IdempotencyKey)
    ) STRICT;

CREATE TABLE _System_ConnectorFailure (
      WorkId TEXT NOT NULL PRIMARY KEY,
      EventId TEXT NOT NULL,
      PackId INTEGER NOT NULL,
      Fingerprint TEXT NOT NULL,
      Route TEXT NOT NULL,
      ErrorCode TEXT NOT NULL,
      Message TEXT NOT NULL,
      FailedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorIdempotency (
      IdempotencyKey BLOB NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      ContentHash BLOB NOT NULL,
      ReceiptId TEXT NOT NULL,
      EventId TEXT,
      Duplicates INTEGER NOT NULL DEFAULT 0,
      FirstSeenDate INTEGER NOT NULL,
      LastSeenDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorLimit (
      LimitKey TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Arrival INTEGER NOT NULL,
      DueDate INTEGER
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorLimited (
      LimitKey TEXT NOT NULL,
      LaneOrdinal INTEGER NOT NULL,
      WorkId TEXT NOT NULL,
      PRIMARY KEY (LimitKey, LaneOrdinal, WorkId)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorProjection (
      ProjectionKey TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Route TEXT NOT NULL,
      SourceKey TEXT NOT NULL,
      Generation INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorReceipt (
      ReceiptId TEXT NOT NULL PRIMARY KEY,
      PackId INTEGER NOT NULL,
      Route TEXT NOT NULL,
      Method TEXT NOT NULL,
      Target TEXT NOT NULL,
      Headers TEXT NOT NULL,
      Body BLOB,
      BodyEventId TEXT,
      BodyHash BLOB NOT NULL,
      BodyBytes INTEGER NOT NULL,
      Verification TEXT NOT NULL,
      EventCount INTEGER NOT NULL,
      QuarantinedDate INTEGER,
      LastErrorCode TEXT,
      LastError TEXT,
      ReceivedDate INTEGER NOT NULL,
      CreatedDate INTEGER NOT NULL
    ) STRICT;

CREATE TABLE _System_ConnectorReplay (
      ParentId TEXT NOT NULL PRIMARY KEY,
      ChildId TEXT NOT NULL,
      ActionId TEXT NOT NULL,
      CreatedDate INTEGER NOT NULL,
      CONSTRAINT uniq_connector_replay_child UNIQUE (ChildId)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorTally (
      PackId INTEGER NOT NULL,
      QueueClass TEXT NOT NULL,
      State TEXT NOT NULL,
      Slot INTEGER NOT NULL,
      Total INTEGER NOT NULL,
      PRIMARY KEY (PackId, QueueClass, State, Slot)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorTrace (
      ReceiptId TEXT NOT NULL PRIMARY KEY,
      TraceContext TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_ConnectorWorkItem (
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
      Bucket TEXT GENERATED ALWAYS AS (CASE
      WHEN State = 'processing' THEN 'processing'
      WHEN State = 'held' THEN 'held'
      WHEN State <> 'pending' THEN NULL
      WHEN ProjectionKey IS NOT NULL AND ProjectionActiveKey IS NULL THEN 'queued'
      WHEN Readiness = 2 THEN 'ready:' || QueueClass
      WHEN Readiness = 1 THEN 'delayed'
      ELSE 'blocked' END) VIRTUAL,
      BucketOrder INTEGER GENERATED ALWAYS AS (CASE
      WHEN State = 'processing' THEN COALESCE(LeaseUntil, 0)
      WHEN State = 'pending' AND Readiness = 1
        AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL) THEN RunAfter
      ELSE LaneOrdinal END) VIRTUAL,
      LaneRank INTEGER GENERATED ALWAYS AS (CASE WHEN State = 'processing' THEN 0 ELSE LaneOrdinal END) VIRTUAL,
      LaneOpenKey TEXT GENERATED ALWAYS AS (CASE WHEN (State IN ('processing', 'held')
      OR (State = 'pending' AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL))) THEN LaneKey END) VIRTUAL,
      DeliveryOpenKey TEXT GENERATED ALWAYS AS (CASE WHEN (State IN ('processing', 'held')
      OR (State = 'pending' AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL))) THEN DeliveryLaneKey END) VIRTUAL,
      TargetOpenKey TEXT GENERATED ALWAYS AS (CASE WHEN (State IN ('processing', 'held')
      OR (State = 'pending' AND (ProjectionKey IS NULL OR ProjectionActiveKey IS NOT NULL))) THEN TargetLaneKey END) VIRTUAL,
      ProjectionQueuedKey TEXT GENERATED ALWAYS AS (CASE WHEN State = 'pending' AND ProjectionActiveKey IS NULL THEN ProjectionKey END) VIRTUAL,
      CONSTRAINT uniq_connector_work_item_event_type UNIQUE (EventId, WorkType)
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_InstalledPack (
      PackId INTEGER PRIMARY KEY AUTOINCREMENT,
      Namespace TEXT NOT NULL,
      Pack TEXT NOT NULL,
      Version TEXT NOT NULL,
      Generation INTEGER NOT NULL DEFAULT 1,
      Status TEXT NOT NULL DEFAULT 'active',
      NextLaneOrdinal INTEGER NOT NULL,
      NextHistoryOrdinal INTEGER NOT NULL DEFAULT 1,
      CreatedDate INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL,
      CONSTRAINT uniq_installed_pack_name UNIQUE (Namespace, Pack)
    ) STRICT;

CREATE TABLE _System_Migration (
    Id TEXT NOT NULL PRIMARY KEY, Checksum TEXT NOT NULL, Additive INTEGER NOT NULL, AppliedDate INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_Namespace (
      Namespace TEXT NOT NULL PRIMARY KEY,
      CreatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE TABLE _System_SchedulerLease (
      LeaseKey TEXT NOT NULL PRIMARY KEY,
      Holder TEXT NOT NULL,
      Token TEXT NOT NULL,
      Epoch INTEGER NOT NULL DEFAULT 0,
      LeaseUntil INTEGER NOT NULL,
      UpdatedDate INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;

CREATE INDEX ix_connector_action_created ON _System_ConnectorAction (CreatedDate, ActionId);

CREATE INDEX ix_connector_failure_group ON _System_ConnectorFailure
      (Fingerprint, FailedDate, WorkId);

CREATE INDEX ix_connector_limit_due ON _System_ConnectorLimit
      (PackId, DueDate, LimitKey);

CREATE INDEX ix_connector_receipt_quarantine
      ON _System_ConnectorReceipt (QuarantinedDate, ReceiptId) WHERE QuarantinedDate IS NOT NULL;

CREATE INDEX ix_connector_work_item_bucket ON _System_ConnectorWorkItem
      (PackId, WorkType, Bucket, BucketOrder, RunAfter, CreatedDate, WorkId) WHERE Bucket IS NOT NULL;

CREATE UNIQUE INDEX uniq_connector_work_item_delivery ON _System_ConnectorWorkItem
      (DeliveryOpenKey, LaneRank) WHERE DeliveryOpenKey IS NOT NULL;

CREATE UNIQUE INDEX uniq_connector_work_item_lane ON _System_ConnectorWorkItem
      (LaneOpenKey, LaneRank) WHERE LaneOpenKey IS NOT NULL;

CREATE UNIQUE INDEX uniq_connector_work_item_projection_active ON _System_ConnectorWorkItem
      (ProjectionActiveKey) WHERE ProjectionActiveKey IS NOT NULL;

CREATE UNIQUE INDEX uniq_connector_work_item_projection_queued ON _System_ConnectorWorkItem
      (ProjectionQueuedKey) WHERE ProjectionQueuedKey IS NOT NULL;

CREATE UNIQUE INDEX uniq_connector_work_item_target ON _System_ConnectorWorkItem
      (TargetOpenKey, LaneRank) WHERE TargetOpenKey IS NOT NULL;
