import { readFileSync } from 'node:fs';
import { type Provenance, provenanceSchema } from '@sotto/attestation';
import {
  type AttestationMode,
  chooseProducer,
  type EvidenceProducer,
  openProducer,
  probeMachine,
} from '@sotto/attestation/producers';

/**
 * Thrown when this machine cannot give what ATTESTATION or PROVENANCE_FILE asks for. Its message is the one line that
 * ends the start.
 */
export class AttestationError extends Error {}

export interface AttestationOptions {
  readonly mode: AttestationMode;
  readonly isProduction: boolean;
  /** A mirror of Intel's documents. Undefined: Intel. */
  readonly collateralUrl?: string | undefined;
  /** Called for a vendor's document that expires within a week and could not be renewed. */
  readonly onExpiring: (document: string, until: number) => void;
}

/** Opens the producer of evidence about this broker; undefined if ATTESTATION is `off`. Throws `AttestationError`. */
export async function openAttestation(options: AttestationOptions): Promise<EvidenceProducer | undefined> {
  const { mode, isProduction, collateralUrl: mirror, onExpiring } = options;
  const choice = chooseProducer(mode, await probeMachine(), isProduction);
  if (choice.kind === 'off') return undefined;
  if (choice.kind === 'refused') throw new AttestationError(`ATTESTATION is \`${mode}\`: ${choice.reason}`);
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
