import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { signEnvelope } from '../dsse.ts';
import { type Checkpoint, checkpointText, readCheckpoint } from './checkpoint.ts';
import { entryOf, hashTexts, type LoggedRelease, loggedReleaseFormat } from './logged-release.ts';
import { isSame, Leaves, leafHash } from './merkle.ts';
import { isSignedBy, type NoteSigner, signNote } from './signed-note.ts';
import { bundlePaths, logFiles, readBundle } from './tiles.ts';

/** Why a log was not written. Its message is a sentence for the operator. */
export class LogError extends Error {
  override readonly name = 'LogError';
}

/** The largest entry: bundles have its length in two bytes. */
const longestEntry = 65_535;

/**
 * Signs a statement and appends it to the log in a folder. A missing folder is created. A statement that is in
 * the log already is not appended again: its release comes with the current checkpoint, and with what witnesses have
 * added to that. Throws a `LogError`.
 *
 * Two processes that append at once would sign two histories, which is a fork. So a lock file lets one in.
 */
export function signInto(folder: string, statement: Uint8Array, signer: NoteSigner): LoggedRelease {
  const lock = join(folder, 'lock');
  try {
    mkdirSync(folder, { recursive: true });
    closeSync(openSync(lock, 'wx'));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EEXIST' || !existsSync(lock)) throw new LogError(`${folder} cannot be written (${String(code)}).`);
    throw new LogError(`${lock} exists: another process writes the log, or one ended early. If none runs, remove it.`);
  }
  try {
    return append(folder, statement, signer);
  } finally {
    rmSync(lock);
  }
}

function append(folder: string, statement: Uint8Array, signer: NoteSigner): LoggedRelease {
  const { entries, checkpoint } = readLog(folder, signer);
  const envelope = signEnvelope(statement, signer);
  const entry = entryOf(envelope);
  if (entry.length > longestEntry) {
    throw new LogError(`The signed statement has ${entry.length} bytes; an entry of a log may have ${longestEntry}.`);
  }
  const known = entries.findIndex((each) => isSame(each, entry));
  const index = known < 0 ? entries.length : known;
  const all = known < 0 ? [...entries, entry] : entries;
  const hashes = all.map(leafHash);
  const leaves = new Leaves(hashes);
  const current =
    known >= 0 && checkpoint !== undefined
      ? checkpoint
      : signNote(checkpointText(signer.key.name, { size: all.length, root: leaves.root }), signer);
  if (known < 0) {
    for (const { path, bytes } of logFiles(all, hashes)) writeOnce(join(folder, path), bytes);
    // The checkpoint comes last: until then, the log is what it was.
    writeFileSync(join(folder, 'checkpoint.new'), current);
    renameSync(join(folder, 'checkpoint.new'), join(folder, 'checkpoint'));
  }
  return {
    format: loggedReleaseFormat,
    envelope,
    index,
    inclusion: hashTexts(leaves.inclusionProof(index)),
    checkpoint: current,
    consistency: all.slice(1).map((_, before) => hashTexts(leaves.consistencyProof(before + 1))),
  };
}

/** Reads all entries, and refuses a log whose files do not lead to its checkpoint: to sign more would be a fork. */
function readLog(folder: string, signer: NoteSigner): { entries: Uint8Array[]; checkpoint: string | undefined } {
  const file = join(folder, 'checkpoint');
  if (!existsSync(file)) {
    if (existsSync(join(folder, 'tile'))) {
      throw new LogError(
        `${folder} has entries but no checkpoint. If its first signature was interrupted, remove ${join(folder, 'tile')} and sign again. Otherwise restore the log: a new one would be a fork.`,
      );
    }
    return { entries: [], checkpoint: undefined };
  }
  const text = readFileSync(file, 'utf8');
  const checkpoint = readCheckpoint(text);
  if (checkpoint?.origin !== signer.key.name || !isSignedBy(checkpoint.note, signer.key)) {
    throw new LogError(`${file} is not signed by the key ${signer.key.name}. Each log has one key.`);
  }
  return { entries: entriesOf(folder, checkpoint), checkpoint: text };
}

function entriesOf(folder: string, checkpoint: Checkpoint): Uint8Array[] {
  const entries = bundlePaths(checkpoint.size).flatMap((path) => {
    const file = join(folder, path);
    const bundle = existsSync(file) ? readBundle(readFileSync(file)) : undefined;
    if (bundle === undefined) throw new LogError(`${file} is missing or malformed. Restore the log from a copy.`);
    return bundle;
  });
  if (entries.length !== checkpoint.size || !isSame(new Leaves(entries.map(leafHash)).root, checkpoint.root)) {
    throw new LogError(`The entries in ${folder} do not lead to its checkpoint. Restore the log from a copy.`);
  }
  return entries;
}

/** Files of a log never change. One that exists with other bytes is left from a process that ended before its checkpoint. */
function writeOnce(file: string, bytes: Uint8Array): void {
  mkdirSync(dirname(file), { recursive: true });
  if (existsSync(file) && isSame(readFileSync(file), bytes)) return;
  writeFileSync(file, bytes);
}
