import { meetsVerdict, type Verdict, verdicts } from '@sotto/attestation';
import { ClientError } from '../errors.ts';
import { readOrigin } from '../origin.ts';
import { type ClientPins, hasMeasurements } from '../pins/client-pins.ts';
import type { OriginVerification } from './verify-origin.ts';

/** False in the bundle for browsers, by definition at its build: what follows from it is not in that bundle at all. */
declare const SOTTO_SIMULATION: boolean | undefined;

/** A verdict on which content may be sent. */
export type AcceptableVerdict = Exclude<Verdict, 'unavailable' | 'untrusted'>;
export const acceptableVerdicts = verdicts.filter((verdict): verdict is AcceptableVerdict =>
  meetsVerdict(verdict, 'policy_matched'),
);

export interface AcceptanceTerms {
  /** The weakest verdict that content is sent on. */
  readonly minimumVerdict: AcceptableVerdict;
  readonly pins: ClientPins;
  /**
   * For development: accepts simulated evidence of an origin on this machine, which protects nothing. Not in the bundle for
   * browsers.
   */
  readonly allowSimulated?: boolean | undefined;
}

/** Throws what keeps content from being sent: `attestation_unavailable`, `nonce_mismatch` or `attestation_untrusted`. */
export function requireAccepted(verification: OriginVerification, terms: AcceptanceTerms): void {
  const { minimumVerdict, pins } = terms;
  const { verdict, checks, absence } = verification;
  if (verdict === 'unavailable') {
    throw new ClientError('attestation_unavailable', undefined, absence === undefined ? {} : { detail: absence });
  }
  if (typeof SOTTO_SIMULATION === 'undefined' || SOTTO_SIMULATION) {
    if (terms.allowSimulated === true && isHonestSimulation(verification)) return;
  }
  if (verdict !== 'untrusted' && meetsVerdict(verdict, minimumVerdict)) return;
  const failed = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  if (failed.includes('gateway.report_data') || failed.includes('simulated.signature'))
    throw new ClientError('nonce_mismatch');
  const standing = `The verdict is ${verdict}, and ${minimumVerdict} is required.`;
  const why = failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : '';
  const advice = hasMeasurements(pins)
    ? ''
    : ' This build ships no measurements of released images, so nothing can be trusted yet: give your own as `pins` (`--pins FILE`).';
  throw new ClientError('attestation_untrusted', undefined, { detail: `${standing}${why}${advice}` });
}

/** Simulated evidence that says so, is bound to our challenge, and comes from this machine. */
function isHonestSimulation({ teeType, checks, keySet, origin }: OriginVerification): boolean {
  const failed = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  return (
    teeType === 'simulated' &&
    keySet !== undefined &&
    readOrigin('origin', origin).isLoopback &&
    failed.every((name) => name === 'simulated.hardware')
  );
}
