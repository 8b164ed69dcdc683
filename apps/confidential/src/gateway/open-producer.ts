import {
  type AttestationMode,
  chooseProducer,
  type EvidenceProducer,
  probeMachine,
  simulatedProducer,
} from '@sotto/attestation/producers';

/** ATTESTATION asks for what this machine cannot give: one line for the end of the start. */
export class AttestationError extends Error {}

export interface ProducerOptions {
  readonly mode: AttestationMode;
  readonly isProduction: boolean;
}

/** Opens what vouches for this broker; undefined where ATTESTATION is `off`. Throws `AttestationError`. */
export async function openProducer({ mode, isProduction }: ProducerOptions): Promise<EvidenceProducer | undefined> {
  const choice = chooseProducer(mode, await probeMachine(), isProduction);
  switch (choice.kind) {
    case 'off':
      return undefined;
    case 'refused':
      throw new AttestationError(`ATTESTATION is \`${mode}\`: ${choice.reason}`);
    case 'simulated':
      return simulatedProducer();
    case 'configfs':
    case 'dstack':
      throw new AttestationError(`ATTESTATION is \`${mode}\`: not yet`);
    default:
      return choice satisfies never;
  }
}
