import { decodeBase64, toBase64 } from '@sotto/attestation';
import type { Tree } from './merkle.ts';
import { readNote, type SignedNote } from './signed-note.ts';

/** The state of a log that its key signed (https://c2sp.org/tlog-checkpoint). */
export interface Checkpoint extends Tree {
  /** The name of the log. Ours equals the name of its key. */
  readonly origin: string;
  readonly note: SignedNote;
}

export const checkpointText = (origin: string, { size, root }: Tree): string =>
  `${origin}\n${size}\n${toBase64(root)}\n`;

/** Reads a signed checkpoint. Returns undefined if the text is none. It verifies no signature. */
export function readCheckpoint(text: string): Checkpoint | undefined {
  const note = readNote(text);
  if (note === undefined) return undefined;
  const [origin = '', digits = '', hash = ''] = note.text.split('\n');
  const root = decodeBase64(hash);
  if (origin === '' || !/^(?:0|[1-9]\d{0,14})$/.test(digits) || root?.length !== 32) return undefined;
  return { origin, size: Number(digits), root, note };
}
