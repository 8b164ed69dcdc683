import type { ProviderFamily } from './provider-evidence.ts';
import type { ProviderPins } from './provider-pins.ts';

/** The route that was asked for, and what is accepted of it. */
export interface ProviderChallenge {
  /** Ours, fresh: 64 lower-case hex digits. */
  readonly nonce: string;
  /** The provider's public id. */
  readonly provider: string;
  readonly model: string;
  readonly privacyClass: 'tee' | 'e2ee';
  /**
   * The format that the provider's evidence must have, from our pins or the measured registry. A relay that could choose it
   * would have one family's nonce, which anyone may set, read as another family's key. Undefined: `untrusted`.
   */
  readonly family: ProviderFamily | undefined;
  /** The provider's own name for the model, from the same place; for Chutes `<model>@<chute id>`. Undefined: `untrusted`. */
  readonly upstreamModel: string | undefined;
  /** Ours, never the server's. Without measurements no verdict is more than `untrusted`. */
  readonly pins: ProviderPins | undefined;
  readonly now: Date;
  /** How far our clock may be off: five minutes by default. */
  readonly toleranceMs?: number | undefined;
}
