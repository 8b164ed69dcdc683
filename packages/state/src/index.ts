export { maxMeasurementRecords } from './bounds.ts';
export { type AccountRef, openAccountRef, sealAccountRef } from './envelopes/account-ref.ts';
export { apiKeyKind, createApiKey, hashSecret, type KeyKind } from './envelopes/api-key.ts';
export { type Declaration, signDeclaration, verifyDeclaration } from './envelopes/declaration.ts';
export type { Keys } from './envelopes/keys.ts';
export { openReceipt, receiptIdOf, sealReceipt } from './envelopes/receipt.ts';
export {
  parseSettlement,
  type Settlement,
  settlementSchema,
  signSettlement,
  verifySettlement,
} from './envelopes/settlement.ts';
export {
  bindingsOf,
  isSameReasoningBinding,
  type OpenedTicket,
  openTicket,
  roundedExpiry,
  sealTicket,
  type TicketBindings,
  type TicketEnvelope,
  type TicketForm,
} from './envelopes/ticket.ts';
export { EpochKeeper, type EpochKeeperDependencies, type EpochLedger } from './epochs/epoch-keeper.ts';
export { hourOf, MeasurementFollower } from './measurements/measurement-follower.ts';
export { HoldBook, type HoldBookDependencies, type HoldOrder } from './membership/hold-book.ts';
export { LeaseKeeper, leaseGraceMs, leaseMs } from './membership/lease-keeper.ts';
export { type Caller, controlClient, Membership } from './membership/membership.ts';
export { createMemoryState, type MemoryStateOptions, MemoryStore } from './memory/memory-state.ts';
export { emptyShard, type ShardData } from './memory/shard-data.ts';
export { ShardState } from './memory/shard-state.ts';
export type {
  AdmissionPort,
  AuditedFunds,
  BookedCharges,
  BrokerState,
  CatalogPort,
  Declared,
  EpochPort,
  HealthPort,
  JoinReply,
  KeyProjection,
  MeasurementPage,
  MembershipPort,
  MintReply,
  MintRequest,
  ProjectionPort,
  RateStatus,
  ReadinessPort,
  ReceiptKind,
  ReceiptPort,
  RedeemReply,
  RedeemRequest,
  RestoredAmount,
  RestoredCharge,
  Right,
  RightToCheck,
  SealedDeclaration,
  SettleRequest,
  ShardMembers,
  State,
  StreamPlace,
  VersionedKey,
  WalletFunds,
} from './ports.ts';
export {
  type CatalogSnapshot,
  catalogSnapshotSchema,
  type KeyRecord,
  keyRecordSchema,
  type SettlementEntry,
} from './records.ts';
export { leaveReplica, readRedisUrl } from './redis/connection.ts';
export { inspectRedis, type RedisInspection } from './redis/inspect.ts';
export { createRedisState, type RedisStateOptions } from './redis/redis-state.ts';
export { brokerConnectionName } from './redis/users.ts';
export { indexShardOfKey, shardCount, shardOfWallet, shards } from './shard.ts';
export { forEachReachable, StateUnavailableError } from './unavailable.ts';
