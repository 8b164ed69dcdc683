import type { KeyRecord } from '../records.ts';

/** Usage and limits of a key in its current minute. Durations in ms. */
export interface RateStatus {
  readonly limitRequests: number;
  readonly remainingRequests: number;
  readonly limitTokens: number;
  readonly remainingTokens: number;
  readonly resetMs: number;
}

/** A key's record, with the generation that a redeem must match. */
export interface VersionedKey {
  readonly record: KeyRecord;
  /**
   * Changes with the key and with its workspace's preferences. It looks random, so that it tells a broker nothing that two keys share.
   */
  readonly generation: string;
  readonly shard: number;
  /** The hash that names the key, if it is not that of the secret that was looked up. */
  readonly keyHash?: string | undefined;
}

/** The right of a request: a ticket, or in compatibility mode the key itself. */
export type Right =
  | { readonly kind: 'ticket'; readonly ticketHash: string }
  /** `secretHash` is of the secret that was shown. Default: `keyHash`, because the key is named by its first secret. */
  | { readonly kind: 'key'; readonly keyHash: string; readonly secretHash?: string | undefined };

export interface RightToCheck {
  readonly shard: number;
  readonly right: Right;
}
