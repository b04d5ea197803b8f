/** Exact table names (part of the contract), written once. Unquoted on purpose: valid in every sql_mode. */
export const NAMESPACE = '_System_Namespace';
export const PACK = '_System_InstalledPack';
export const DRAIN = '_System_ConnectorDrain';
export const RECEIPT = '_System_ConnectorReceipt';
export const TRACE = '_System_ConnectorTrace';
export const IDEMPOTENCY = '_System_ConnectorIdempotency';
export const EVENT = '_System_ConnectorEvent';
export const WORK_ITEM = '_System_ConnectorWorkItem';
export const PROJECTION = '_System_ConnectorProjection';
export const LIMIT = '_System_ConnectorLimit';
export const LIMITED = '_System_ConnectorLimited';
export const TALLY = '_System_ConnectorTally';
export const ACTION = '_System_ConnectorAction';
export const FAILURE = '_System_ConnectorFailure';
export const REPLAY = '_System_ConnectorReplay';
export const MIGRATION = '_System_Migration';
