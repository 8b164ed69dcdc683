import type { AccountRef, Settlement } from '@sotto/state';

/** A settlement with a valid MAC, and its owner; undefined where its account reference cannot be opened. */
export interface AttributedSettlement {
  readonly settlement: Settlement;
  readonly owner: AccountRef | undefined;
}
