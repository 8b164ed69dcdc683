import {
  type AttestationMode,
  chooseProducer,
  type EvidenceProducer,
  openProducer,
  probeMachine,
} from '@sotto/attestation/producers';

/** ATTESTATION asks for what this machine cannot give: one line for the end of the start. */
export class AttestationError extends Error {}

export interface AttestationOptions {
  readonly mode: AttestationMode;
  readonly isProduction: boolean;
  /** Where Intel's documents come from instead of Intel. */
  readonly collateralUrl?: string | undefined;
  /** Told of a vendor's document that ends within a week and could not be renewed. */
  readonly onExpiring: (document: string, until: number) => void;
}

/** Opens what vouches for this broker; undefined where ATTESTATION is `off`. Throws `AttestationError`. */
export async function openAttestation(options: AttestationOptions): Promise<EvidenceProducer | undefined> {
  const { mode, isProduction, collateralUrl: mirror, onExpiring } = options;
  const choice = chooseProducer(mode, await probeMachine(), isProduction);
  if (choice.kind === 'off') return undefined;
  if (choice.kind === 'refused') throw new AttestationError(`ATTESTATION is \`${mode}\`: ${choice.reason}`);
  return openProducer(choice, { fetch: globalThis.fetch, now: Date.now, mirror, onExpiring });
}
