CREATE TABLE `_System_ConnectorAction` (
  `ActionId` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Kind` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Actor` varchar(128) NOT NULL,
  `Reason` text NOT NULL,
  `Target` text NOT NULL,
  `TargetHash` binary(32) NOT NULL,
  `Status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'running',
  `Position` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `Matched` bigint(20) NOT NULL DEFAULT 0,
  `Changed` bigint(20) NOT NULL DEFAULT 0,
  `Skipped` bigint(20) NOT NULL DEFAULT 0,
  `CreatedDate` bigint(20) NOT NULL,
  `UpdatedDate` bigint(20) NOT NULL,
  `FinishedDate` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`ActionId`),
  KEY `ix_connector_action_created` (`CreatedDate`,`ActionId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorDrain` (
  `PackId` bigint(20) NOT NULL,
  PRIMARY KEY (`PackId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorEvent` (
  `EventId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `ReceiptId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `EventType` varchar(128) NOT NULL,
  `SourceKey` varchar(512) NOT NULL,
  `DeliveryKey` varchar(512) NOT NULL,
  `DeliveryOrdinal` int(11) NOT NULL DEFAULT 0,
  `Route` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `RouteVersion` int(11) NOT NULL DEFAULT 1,
  `IdempotencyKey` binary(32) NOT NULL,
  `ContentHash` binary(32) DEFAULT NULL,
  `QueueClass` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'default',
  `Origin` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'webhook',
  `ParentId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ConflictOf` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ReceivedDate` bigint(20) NOT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  `Status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  `Attempt` int(11) NOT NULL DEFAULT 0,
  `NextRetryDate` bigint(20) DEFAULT NULL,
  `ClaimToken` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ClaimedBy` varchar(128) DEFAULT NULL,
  `ClaimedDate` bigint(20) DEFAULT NULL,
  `ProcessedDate` bigint(20) DEFAULT NULL,
  `LastError` text DEFAULT NULL,
  `ReplayedAt` bigint(20) DEFAULT NULL,
  `ExecutionOwner` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'event',
  `Companion` mediumtext DEFAULT NULL,
  `Payload` longblob NOT NULL,
  PRIMARY KEY (`EventId`),
  UNIQUE KEY `uniq_connector_event_idempotency` (`IdempotencyKey`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorFailure` (
  `WorkId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `EventId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `Fingerprint` varchar(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Route` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `ErrorCode` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Message` varchar(255) NOT NULL,
  `FailedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`WorkId`),
  KEY `ix_connector_failure_group` (`Fingerprint`,`FailedDate`,`WorkId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorIdempotency` (
  `IdempotencyKey` binary(32) NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `ContentHash` binary(32) NOT NULL,
  `ReceiptId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `EventId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `Duplicates` bigint(20) NOT NULL DEFAULT 0,
  `FirstSeenDate` bigint(20) NOT NULL,
  `LastSeenDate` bigint(20) NOT NULL,
  PRIMARY KEY (`IdempotencyKey`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorLimit` (
  `LimitKey` varchar(72) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `Arrival` bigint(20) NOT NULL,
  `DueDate` bigint(20) DEFAULT NULL,
  PRIMARY KEY (`LimitKey`),
  KEY `ix_connector_limit_due` (`PackId`,`DueDate`,`LimitKey`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorLimited` (
  `LimitKey` varchar(72) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `LaneOrdinal` bigint(20) NOT NULL,
  `WorkId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`LimitKey`,`LaneOrdinal`,`WorkId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorProjection` (
  `ProjectionKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `Route` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `SourceKey` varchar(512) NOT NULL,
  `Generation` bigint(20) NOT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`ProjectionKey`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorReceipt` (
  `ReceiptId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `Route` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Method` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Target` text NOT NULL,
  `Headers` mediumtext NOT NULL,
  `Body` longblob DEFAULT NULL,
  `BodyEventId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `BodyHash` binary(32) NOT NULL,
  `BodyBytes` bigint(20) NOT NULL,
  `Verification` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `EventCount` int(11) NOT NULL,
  `QuarantinedDate` bigint(20) DEFAULT NULL,
  `LastErrorCode` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `LastError` text DEFAULT NULL,
  `ReceivedDate` bigint(20) NOT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`ReceiptId`),
  KEY `ix_connector_receipt_quarantine` (`QuarantinedDate`,`ReceiptId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorReplay` (
  `ParentId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `ChildId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `ActionId` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`ParentId`),
  UNIQUE KEY `uniq_connector_replay_child` (`ChildId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorTally` (
  `PackId` bigint(20) NOT NULL,
  `QueueClass` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `State` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Slot` int(11) NOT NULL,
  `Total` bigint(20) NOT NULL,
  PRIMARY KEY (`PackId`,`QueueClass`,`State`,`Slot`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorTrace` (
  `ReceiptId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `TraceContext` varchar(600) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`ReceiptId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_ConnectorWorkItem` (
  `WorkId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `PackId` bigint(20) NOT NULL,
  `Generation` bigint(20) NOT NULL,
  `EventId` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `WorkType` varchar(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Route` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `RouteVersion` int(11) NOT NULL,
  `QueueClass` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `IdempotencyKey` binary(32) NOT NULL,
  `State` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  `Readiness` tinyint(4) NOT NULL DEFAULT 0,
  `RunAfter` bigint(20) NOT NULL DEFAULT 0,
  `LeaseUntil` bigint(20) DEFAULT NULL,
  `LeaseToken` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `LeaseHolder` varchar(128) DEFAULT NULL,
  `OwnershipEpoch` bigint(20) NOT NULL DEFAULT 0,
  `Attempt` int(11) NOT NULL DEFAULT 0,
  `Failures` int(11) NOT NULL DEFAULT 0,
  `FailureBudget` int(11) NOT NULL DEFAULT 8,
  `OnDead` varchar(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'advance',
  `LaneKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `LaneOrdinal` bigint(20) NOT NULL,
  `DeliveryLaneKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `DeliveryOrdinal` int(11) NOT NULL DEFAULT 0,
  `TargetLaneKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ProjectionKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ProjectionActiveKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ProjectionGeneration` bigint(20) DEFAULT NULL,
  `SupersededBy` varchar(32) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `ReplayedAt` bigint(20) DEFAULT NULL,
  `LastErrorCode` varchar(64) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  `LastError` text DEFAULT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  `TerminalDate` bigint(20) DEFAULT NULL,
  `Bucket` varchar(24) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `State` = 'processing' then 'processing' when `State` = 'held' then 'held' when `State` <> 'pending' then NULL when `ProjectionKey` is not null and `ProjectionActiveKey` is null then 'queued' when `Readiness` = 2 then concat('ready:',`QueueClass`) when `Readiness` = 1 then 'delayed' else 'blocked' end) STORED,
  `BucketOrder` bigint(20) GENERATED ALWAYS AS (case when `State` = 'processing' then coalesce(`LeaseUntil`,0) when `State` = 'pending' and `Readiness` = 1 and (`ProjectionKey` is null or `ProjectionActiveKey` is not null) then `RunAfter` else `LaneOrdinal` end) STORED,
  `LaneRank` bigint(20) GENERATED ALWAYS AS (case when `State` = 'processing' then 0 else `LaneOrdinal` end) STORED,
  `LaneOpenKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `State` in ('processing','held') or `State` = 'pending' and (`ProjectionKey` is null or `ProjectionActiveKey` is not null) then `LaneKey` end) STORED,
  `DeliveryOpenKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `State` in ('processing','held') or `State` = 'pending' and (`ProjectionKey` is null or `ProjectionActiveKey` is not null) then `DeliveryLaneKey` end) STORED,
  `TargetOpenKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `State` in ('processing','held') or `State` = 'pending' and (`ProjectionKey` is null or `ProjectionActiveKey` is not null) then `TargetLaneKey` end) STORED,
  `ProjectionQueuedKey` varchar(40) CHARACTER SET ascii COLLATE ascii_bin GENERATED ALWAYS AS (case when `State` = 'pending' and `ProjectionActiveKey` is null then `ProjectionKey` end) STORED,
  PRIMARY KEY (`WorkId`),
  UNIQUE KEY `uniq_connector_work_item_event_type` (`EventId`,`WorkType`),
  UNIQUE KEY `uniq_connector_work_item_lane` (`LaneOpenKey`,`LaneRank`),
  UNIQUE KEY `uniq_connector_work_item_delivery` (`DeliveryOpenKey`,`LaneRank`),
  UNIQUE KEY `uniq_connector_work_item_target` (`TargetOpenKey`,`LaneRank`),
  UNIQUE KEY `uniq_connector_work_item_projection_active` (`ProjectionActiveKey`),
  UNIQUE KEY `uniq_connector_work_item_projection_queued` (`ProjectionQueuedKey`),
  KEY `ix_connector_work_item_bucket` (`PackId`,`WorkType`,`Bucket`,`BucketOrder`,`RunAfter`,`CreatedDate`,`WorkId`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_InstalledPack` (
  `PackId` bigint(20) NOT NULL AUTO_INCREMENT,
  `Namespace` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Pack` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Version` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Generation` bigint(20) NOT NULL DEFAULT 1,
  `Status` varchar(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'active',
  `NextLaneOrdinal` bigint(20) NOT NULL,
  `NextHistoryOrdinal` bigint(20) NOT NULL DEFAULT 1,
  `CreatedDate` bigint(20) NOT NULL,
  `UpdatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`PackId`),
  UNIQUE KEY `uniq_installed_pack_name` (`Namespace`,`Pack`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_Migration` (
  `Id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Checksum` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Additive` tinyint(4) NOT NULL,
  `AppliedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`Id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_Namespace` (
  `Namespace` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `CreatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`Namespace`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE `_System_SchedulerLease` (
  `LeaseKey` varchar(190) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Holder` varchar(128) NOT NULL,
  `Token` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `Epoch` bigint(20) NOT NULL DEFAULT 0,
  `LeaseUntil` bigint(20) NOT NULL,
  `UpdatedDate` bigint(20) NOT NULL,
  PRIMARY KEY (`LeaseKey`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
