import { readFileSync } from 'node:fs';
import { type Provenance, provenanceSchema } from '@sotto/attestation';
import { chooseProducer, type EvidenceProducer, openProducer, probeMachine } from '@sotto/attestation/producers';
import { type EarlyConfig, StartError } from '@sotto/server';

/**
 * Thrown when this machine cannot give what ATTESTATION or PROVENANCE_FILE asks for. Its message is the one line that
 * ends the start.
 */
export class AttestationError extends StartError {}

/**
 * Opens the producer of evidence about this broker; undefined if ATTESTATION is `off`. `onExpiring` is called for a vendor's document
 * that expires within a week and could not be renewed. Throws `AttestationError`.
 */
export async function openAttestation(
  { ATTESTATION: mode, ...config }: Pick<EarlyConfig, 'ATTESTATION' | 'ATTESTATION_COLLATERAL_URL' | 'NODE_ENV'>,
  onExpiring: (document: string, until: number) => void,
): Promise<EvidenceProducer | undefined> {
  const choice = chooseProducer(mode, await probeMachine(), config.NODE_ENV === 'production');
  if (choice.kind === 'off') return undefined;
  if (choice.kind === 'refused') throw new AttestationError(`ATTESTATION is \`${mode}\`: ${choice.reason}`);
  const mirror = config.ATTESTATION_COLLATERAL_URL;
  return openProducer(choice, { fetch: globalThis.fetch, now: Date.now, mirror, onExpiring });
}

/** Reads PROVENANCE_FILE, JSON of `provenanceSchema` that comes with the image. Throws `AttestationError`. */
export function readProvenance(file: string): Provenance {
  const parsed = provenanceSchema.safeParse(parse(file));
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw new AttestationError(
    `PROVENANCE_FILE is \`${file}\`: its field \`${issue?.path.join('.') ?? ''}\` ${issue?.message ?? 'is malformed'}`,
  );
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw new AttestationError(
      `PROVENANCE_FILE is \`${file}\`, which is not a readable JSON file {repository, commit, image_digest}`,
    );
  }
}
