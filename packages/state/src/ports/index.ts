/** The shared state's interface, which Redis and memory both implement. `state.ts` puts its parts together. */

export type { AdmissionPort, RedeemReply, RedeemRequest, SettleRequest, StreamPlace } from './admission.ts';
export type { CapacityPort, MemoryUse } from './availability.ts';
export type { AuditedBudget, AuditedFunds, ShardBooks, WantedBooks } from './books.ts';
export type { CatalogPort } from './catalog.ts';
export type { Declared, EpochPort, RestoredAmount, RestoredDeclaration, ShardMembers } from './epochs.ts';
export type { HealthPort, MeasurementPage } from './health.ts';
export type { JoinReply, MembershipPort } from './membership.ts';
export type {
  BudgetProjection,
  KeyProjection,
  MonthSpend,
  RemovedBudget,
  RemovedKey,
  WalletFunds,
  WorkspaceProjection,
} from './projected-records.ts';
export type { ProjectionPort } from './projection.ts';
export type { ReceiptKind, ReceiptPort } from './receipts.ts';
export type { RefusalCount, RefusalCounts, RefusedRequest } from './refusals.ts';
export type { ReserveReply, ReserveRequest } from './reservations.ts';
export type { RateStatus, Right, RightToCheck, VersionedKey } from './rights.ts';
export type { BookedCharges, SettlementReader } from './settlements.ts';
export type { BrokerState, State } from './state.ts';
export type { MintReply, MintRequest } from './tickets.ts';
export type { StateWatch } from './watch.ts';
