import { type AcceptableEnclaveVerdict, acceptableEnclaveVerdicts } from '../enclave/enclave-sessions.ts';
import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import { type AcceptableVerdict, type AcceptanceTerms, acceptableVerdicts } from '../gateway/acceptance.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import {
  callback,
  count,
  duration,
  flag,
  type OptionKind,
  oneOf,
  optional,
  ownPins,
  requireOptions,
  text,
} from '../options.ts';
import type { ClientPins } from '../pins/client-pins.ts';

/** False in the bundle for browsers, by definition at its build: what follows from it is not in that bundle at all. */
declare const SOTTO_SIMULATION: boolean | undefined;

export interface PrivateFetchOptions {
  /** An inference key. It is sent to the control origin and nowhere else. */
  readonly apiKey: string;
  /** With or without `/v1`. */
  readonly controlOrigin: string;
  /** The confidential origin, with or without `/v1`: where content goes. */
  readonly baseOrigin: string;
  /** Which machines are accepted; by default those that this build ships with. */
  readonly pins?: ClientPins;
  /** The weakest verdict that content is sent on. Default: `hardware_verified`; in browsers `cryptographically_checked`. */
  readonly minimumVerdict?: AcceptableVerdict;
  /** Whether every request is encrypted for the provider's enclave, and refused where it cannot be. Default: only those that ask for it. */
  readonly e2eeOnly?: boolean;
  /** Tickets kept ready for each kind of request; 0: none. Default 2. */
  readonly ticketsAhead?: number;
  /** How long a verification is relied on, at most. Default: ten minutes. */
  readonly maxAgeMs?: number;
  /** Told of each verification that was accepted. */
  readonly onVerified?: (verification: OriginVerification) => void;
  /** The weakest verdict on a provider's enclave that content is encrypted to. Default: `policy_matched`. */
  readonly minimumEnclaveVerdict?: AcceptableEnclaveVerdict;
  /** Told of each verification of a provider's enclave that was accepted. */
  readonly onEnclaveVerified?: (verification: EnclaveVerification) => void;
  /** For tests: Unix milliseconds. */
  readonly now?: () => number;
}

/** What the bundle for browsers does not have. */
export type DevelopmentOptions = Pick<AcceptanceTerms, 'allowSimulated'>;

const kinds = {
  apiKey: text,
  controlOrigin: text,
  baseOrigin: text,
  pins: optional(ownPins),
  minimumVerdict: optional(oneOf(acceptableVerdicts)),
  e2eeOnly: optional(flag),
  ticketsAhead: optional(count),
  maxAgeMs: optional(duration),
  onVerified: optional(callback),
  minimumEnclaveVerdict: optional(oneOf(acceptableEnclaveVerdicts)),
  onEnclaveVerified: optional(callback),
  now: optional(callback),
} satisfies Record<keyof PrivateFetchOptions, OptionKind>;

/** Throws `option_invalid` for options that are unknown, missing or of another type. */
export function requirePrivateOptions(options: PrivateFetchOptions & DevelopmentOptions): void {
  const simulation =
    typeof SOTTO_SIMULATION === 'undefined' || SOTTO_SIMULATION ? { allowSimulated: optional(flag) } : {};
  requireOptions(options, { ...kinds, ...simulation });
}
