import { type Currency, isPrevented, meetsVerdict, type Verdict, verdicts } from '@sotto/attestation';
import { ClientError } from '../errors.ts';
import { readOrigin } from '../origin.ts';
import { type ClientPins, hasMeasurements } from '../pins/client-pins.ts';
import type { OriginVerification } from './verify-origin.ts';

/** The build of the browser bundle defines this as false, which removes the code that depends on it. */
declare const SOTTO_SIMULATION: boolean | undefined;

/** A verdict that allows the client to send content. */
export type AcceptableVerdict = Exclude<Verdict, 'unavailable' | 'untrusted'>;
export const acceptableVerdicts = verdicts.filter((verdict): verdict is AcceptableVerdict =>
  meetsVerdict(verdict, 'policy_matched'),
);

/** Whether content may go to a machine: the verdict suffices, and its documents show that it is up to date. */
export const isAcceptable = (
  { verdict, isCurrent }: Pick<Currency, 'isCurrent'> & { readonly verdict: Verdict },
  minimum: AcceptableVerdict,
): boolean => isCurrent && meetsVerdict(verdict, minimum);

/** Says which documents do not show that a machine is up to date, and why. Leaves out the checks that others prevented. */
export const notCurrentWords = ({ notCurrent }: Pick<Currency, 'notCurrent'>): string =>
  notCurrent
    .flatMap((check) =>
      check.outcome === 'passed' || check.reason === isPrevented ? [] : `${check.name} (${check.reason})`,
    )
    .join(', ');

export interface AcceptanceTerms {
  /** The weakest verdict on which the client sends content. */
  readonly minimumVerdict: AcceptableVerdict;
  readonly pins: ClientPins;
  /**
   * For development: accepts simulated evidence of an origin on this machine. Simulated evidence protects nothing. The
   * browser bundle does not have this option.
   */
  readonly allowSimulated?: boolean | undefined;
}

const simulatedDetail =
  'Failed: simulated.hardware. The evidence is simulated, so nothing protects your content. For development on this machine, accept it with `allowSimulated` (`--allow-simulated`).';

/** Throws `attestation_unavailable`, `nonce_mismatch` or `attestation_untrusted` if content must not be sent. */
export function requireAccepted(verification: OriginVerification, terms: AcceptanceTerms): void {
  const { minimumVerdict, pins } = terms;
  const { verdict, checks, absence } = verification;
  if (verdict === 'unavailable') {
    throw new ClientError('attestation_unavailable', undefined, absence === undefined ? {} : { detail: absence });
  }
  if (typeof SOTTO_SIMULATION === 'undefined' || SOTTO_SIMULATION) {
    if (isHonestSimulation(verification)) {
      if (terms.allowSimulated === true) return;
      throw new ClientError('attestation_untrusted', undefined, { detail: simulatedDetail });
    }
  }
  if (isAcceptable(verification, minimumVerdict)) return;
  const failed = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  if (failed.includes('gateway.report_data') || failed.includes('simulated.signature'))
    throw new ClientError('nonce_mismatch');
  const standing = `The verdict is ${verdict}; ${minimumVerdict} is required.`;
  const why = failed.length > 0 ? ` Failed: ${failed.join(', ')}.` : '';
  const open = notCurrentWords(verification);
  const currency = open === '' ? '' : ` Not shown to be up to date: ${open}.`;
  const advice = hasMeasurements(pins)
    ? ''
    : ' This build ships no measurements of released images. Pass your own as `pins` (`--pins FILE`).';
  throw new ClientError('attestation_untrusted', undefined, { detail: `${standing}${why}${currency}${advice}` });
}

/** Whether the evidence declares itself simulated, is bound to our challenge, and comes from this machine. */
export function isHonestSimulation({ teeType, checks, keySet, origin }: OriginVerification): boolean {
  const failed = checks.filter(({ outcome }) => outcome === 'failed').map(({ name }) => name);
  return (
    teeType === 'simulated' &&
    keySet !== undefined &&
    readOrigin('origin', origin).isLoopback &&
    failed.every((name) => name === 'simulated.hardware')
  );
}
