export { maxMeasurementRecords } from './bounds.ts';
export {
  type BudgetScope,
  budgetIdOf,
  describeBudget,
  monthAfter,
  monthBefore,
  monthOf,
  monthPattern,
} from './budgets.ts';
export { type AccountRef, openAccountRef, sealAccountRef } from './envelopes/account-ref.ts';
export { apiKeyKind, createApiKey, hashSecret, type KeyKind } from './envelopes/api-key.ts';
export { signDeclaration, verifyDeclaration } from './envelopes/declaration.ts';
export { openReceipt, receiptIdOf, sealReceipt } from './envelopes/receipt.ts';
export type { Keys } from './envelopes/sealing.ts';
export {
  parseBookable,
  type Settlement,
  settlementSchema,
  signSettlement,
  type ToldSettlement,
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
} from './envelopes/ticket.ts';
export {
  type AmountOwner,
  EpochKeeper,
  type EpochKeeperDependencies,
  type EpochLedger,
} from './epochs/epoch-keeper.ts';
export { generationOf, shownGeneration, workspaceIdOf } from './generation.ts';
export { hourOf, MeasurementFollower } from './measurements/measurement-follower.ts';
export { HoldBook, type HoldOrder } from './membership/hold-book.ts';
export { LeaseKeeper, leaseGraceMs, leaseMs } from './membership/lease-keeper.ts';
export { controlClient } from './membership/membership.ts';
export { createMemoryState, MemoryStore } from './memory/memory-state.ts';
export { emptyShard, type ShardData } from './memory/shard-data.ts';
export type {
  AdmissionPort,
  AuditedBudget,
  AuditedFunds,
  BookedCharges,
  BrokerState,
  BudgetProjection,
  CapacityPort,
  CatalogPort,
  EpochPort,
  HealthPort,
  KeyProjection,
  MemoryUse,
  MintReply,
  MonthSpend,
  ProjectionPort,
  RateStatus,
  ReceiptKind,
  ReceiptPort,
  RedeemReply,
  RedeemRequest,
  RefusalCount,
  RefusalCounts,
  RemovedBudget,
  RemovedKey,
  Right,
  RightToCheck,
  SettlementReader,
  SettleRequest,
  State,
  VersionedKey,
  WorkspaceProjection,
} from './ports/index.ts';
export {
  type CatalogSnapshot,
  catalogSnapshotSchema,
  type KeyPart,
  type KeyRecord,
  keyPartSchema,
  type SettlementEntry,
} from './records.ts';
export { leaveReplica, readRedisUrl } from './redis/connection.ts';
export { brokerConnectionName, inspectRedis } from './redis/inspect.ts';
export { createRedisState } from './redis/redis-state.ts';
export { adviceOnTrouble, isRejected } from './redis/trouble.ts';
export { refusalHour } from './refusals.ts';
export { indexShardOfKey, shardCount, shardOfWallet, shards } from './shard.ts';
export { forAllReachable, forEachReachable, StateUnavailableError } from './unavailable.ts';
