import type { AdmissionPort } from './admission.ts';
import type { CapacityPort, ReadinessPort } from './availability.ts';
import type { CatalogPort } from './catalog.ts';
import type { EpochPort } from './epochs.ts';
import type { HealthPort } from './health.ts';
import type { MembershipPort } from './membership.ts';
import type { ProjectionPort } from './projection.ts';
import type { ReceiptPort } from './receipts.ts';

/** A broker's view of the state, without data that only control may know, such as the owner of a hold or key. */
export type BrokerState = AdmissionPort &
  MembershipPort &
  Pick<CatalogPort, 'readCatalog' | 'publishRegistry' | 'readRegistry' | 'watchPublished'> &
  HealthPort &
  ReceiptPort &
  ReadinessPort;

export type State = CapacityPort &
  AdmissionPort &
  MembershipPort &
  EpochPort &
  ProjectionPort &
  CatalogPort &
  HealthPort &
  ReceiptPort &
  ReadinessPort;
