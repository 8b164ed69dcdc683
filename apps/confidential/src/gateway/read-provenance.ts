import { readFileSync } from 'node:fs';
import { type Provenance, provenanceSchema } from '@sotto/attestation';
import { AttestationError } from './open-attestation.ts';

/** Reads PROVENANCE_FILE, JSON of `provenanceSchema`, which the image brings along. Throws `AttestationError`. */
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
      `PROVENANCE_FILE is \`${file}\`: it takes the path of a readable JSON file {repository, commit, image_digest}`,
    );
  }
}
