import type { Upstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import type { CallableProvider } from '../providers/provider-set.ts';

/** A provider's enclave that was verified, and the connections that end in it and nowhere else. */
export interface Reached {
  readonly upstream: Upstream;
  /** Of the evidence: `sessionId` of its verification. */
  readonly sessionId: string;
}

/** How `tee` routes are reached: only through an enclave that was verified before. */
export interface Enclaves {
  /** The enclave that stands verified now; undefined where none does. */
  current(route: Route, provider: CallableProvider): Reached | undefined;
  /** Verifies anew, or waits for the verification under way; undefined where the enclave is not to be trusted. */
  open(route: Route, provider: CallableProvider): Promise<Reached | undefined>;
  /** How many enclaves stand verified now. */
  readonly size: number;
  close(): Promise<void>;
}
