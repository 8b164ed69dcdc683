import { canonicalJson, decodeBase64, toBase64 } from '@sotto/attestation';
import * as z from 'zod';
import { type Envelope, envelopeSchema, openEnvelope } from '../dsse.ts';
import { ReleaseRefusal } from '../refusal.ts';
import { type Checkpoint, readCheckpoint } from './checkpoint.ts';
import { type Hash, isConsistent, isIncluded, leafHash } from './merkle.ts';
import { cosignedAt, isSignedBy, type NoteKey, noteKeyText } from './signed-note.ts';

/** The `format` of a release in an operator's own log. */
export const loggedReleaseFormat = 'sotto.logged_release.v1';

/** A Merkle proof: base64 of hashes. A log of 2^53 entries has no longer one. */
const proof = z.array(z.base64().length(44)).max(106);

/** A signed release, with the proofs that it is in the log, and that the log grew from each of its earlier states. */
export const loggedReleaseSchema = z.strictObject({
  format: z.literal(loggedReleaseFormat),
  envelope: envelopeSchema,
  /** Entries count from 0. */
  index: z.int().min(0),
  inclusion: proof,
  /** The signed checkpoint. Witnesses add their lines to it. */
  checkpoint: z.string().max(65_536),
  /** At `n`: the proof that the log of this checkpoint begins with its first `n + 1` entries. */
  consistency: z.array(proof).max(65_536),
});
export type LoggedRelease = z.infer<typeof loggedReleaseSchema>;

/** A log that pins accept. */
export interface PinnedLog {
  /** Signs releases and checkpoints. */
  readonly key: NoteKey;
  /** Each of them must have cosigned the checkpoint. */
  readonly witnesses: readonly NoteKey[];
  /** The last checkpoint that was accepted. */
  readonly last: Checkpoint | undefined;
}

/** The entry of a log: the envelope in its only form. */
export const entryOf = (envelope: Envelope): Uint8Array => new TextEncoder().encode(canonicalJson(envelope));

/** Verifies a release of an own log. Returns the payload. Throws a `ReleaseRefusal`. */
export function openLoggedRelease(
  release: LoggedRelease,
  log: PinnedLog,
): { payload: Uint8Array; cosignedAt: number[] } {
  const payload = openEnvelope(release.envelope, log.key);
  if (payload === undefined) {
    const [signature] = release.envelope.signatures;
    const names = signature?.keyid ?? 'nothing';
    throw new ReleaseRefusal(
      'release.signature',
      `the key ${noteKeyText(log.key)} did not sign it; the envelope names the key ${names}`,
    );
  }
  const checkpoint = readCheckpoint(release.checkpoint);
  if (checkpoint === undefined) throw new ReleaseRefusal('release.checkpoint', 'its checkpoint is malformed');
  if (checkpoint.origin !== log.key.name) {
    throw new ReleaseRefusal(
      'release.checkpoint',
      `its checkpoint is of the log ${checkpoint.origin}, not ${log.key.name}`,
    );
  }
  if (!isSignedBy(checkpoint.note, log.key)) {
    throw new ReleaseRefusal('release.checkpoint', 'the key of the log did not sign its checkpoint');
  }
  if (!isIncluded(leafHash(entryOf(release.envelope)), release.index, checkpoint, hashes(release.inclusion))) {
    throw new ReleaseRefusal(
      'release.inclusion',
      `the proof does not show it in the log of ${checkpoint.size} entries`,
    );
  }
  const cosigned = log.witnesses.map((witness) => requireCosigned(checkpoint, witness));
  requireGrown(log.last, checkpoint, release);
  return { payload, cosignedAt: cosigned };
}

function requireCosigned({ note }: Checkpoint, witness: NoteKey): number {
  const at = cosignedAt(note, witness);
  if (at === undefined) {
    throw new ReleaseRefusal('release.witnesses', `the witness ${witness.name} has not cosigned its checkpoint`);
  }
  return at;
}

/** Refuses a log that lost or changed an entry since the last checkpoint. */
function requireGrown(last: Checkpoint | undefined, next: Checkpoint, { consistency }: LoggedRelease): void {
  if (last === undefined) return;
  if (next.size < last.size) {
    throw new ReleaseRefusal(
      'release.consistency',
      `the log shrank: your pins know ${last.size} entries, and its checkpoint has ${next.size}. If it is an old copy of the release, get one with the current checkpoint`,
    );
  }
  const proof = consistency[last.size - 1] ?? [];
  if (!isConsistent(last, next, hashes(proof))) {
    throw new ReleaseRefusal(
      'release.consistency',
      `the log forked: its ${next.size} entries do not begin with the ${last.size} that your pins know. Keep your pins and this file as evidence`,
    );
  }
}

const hashes = (texts: readonly string[]): Hash[] => texts.map((text) => decodeBase64(text) ?? new Uint8Array(0));

export const hashTexts = (proof: readonly Hash[]): string[] => proof.map(toBase64);
