import type { Tracing } from '@sotto/server';
import type { AdmissionDependencies } from '../admission/admit.ts';
import type { StreamPacing } from '../answers/keep-alive.ts';
import type { Deadlines } from '../attempts/deadline.ts';
import type { BrokerEvents } from '../events.ts';
import type { RequestMeter } from '../metrics/broker-metrics.ts';
import type { MeasurementLog } from '../planning/measurement-log.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import type { ReceiptDependencies } from '../receipts/request-receipt.ts';
import type { SettlementDependencies } from '../settlement/request-settlement.ts';
import type { Enclaves } from '../tee/enclaves.ts';
import type { ProviderReceipts } from '../tee/provider-receipts.ts';

/** Everything that serving an inference request needs. */
export interface InferenceDependencies {
  readonly admission: AdmissionDependencies;
  readonly settlement: SettlementDependencies;
  readonly providers: ProviderSet;
  readonly deadlines: Deadlines;
  /** When the headers and comments of streams leave. */
  readonly pacing: StreamPacing;
  /** How `tee` routes are reached. */
  readonly enclaves: Enclaves;
  readonly providerReceipts: ProviderReceipts;
  readonly receipts: ReceiptDependencies;
  readonly measurements: MeasurementLog;
  readonly events: BrokerEvents;
  readonly meter: RequestMeter;
  /** Undefined: nothing is traced. */
  readonly traces: Pick<Tracing, 'begin'> | undefined;
  readonly now: () => number;
  /** A clock for durations, in ms, which never steps. */
  readonly monotonicNow: () => number;
  /** Returns 128 random bits as text, for IDs that relate to nothing else. */
  readonly randomId: () => string;
}
