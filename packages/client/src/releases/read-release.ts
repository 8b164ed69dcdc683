import { sha256 } from '@noble/hashes/sha2.js';
import { toHex } from '@sotto/attestation';
import { asObject, problemOf } from '@sotto/wire';
import type { PinnedRelease, ReleaseLog } from '../pins/pinned-release.ts';
import { readCheckpoint } from './log/checkpoint.ts';
import { loggedReleaseFormat, loggedReleaseSchema, openLoggedRelease, type PinnedLog } from './log/logged-release.ts';
import { readNoteKey } from './log/signed-note.ts';
import { type ReleaseCheckName, ReleaseRefusal } from './refusal.ts';
import type { SigstoreSigner } from './sigstore.ts';
import { type ReleaseStatement, readStatement } from './statement.ts';
import { shippedTrustedRoot } from './trusted-root.ts';

/** A release whose signature and log were verified. */
export interface VerifiedRelease {
  readonly statement: ReleaseStatement;
  readonly pinned: PinnedRelease;
  /** The log that has it, with its new checkpoint. Absent for Sigstore's. */
  readonly log: ReleaseLog | undefined;
}

/** Whose releases are accepted. */
export interface ReleaseQuestion {
  /** For a bundle of Sigstore. */
  readonly signer?: SigstoreSigner | undefined;
  /** `trusted_root.json` of Sigstore. Default: the one that ships with this client. */
  readonly trustedRoot?: unknown;
  /** For a release in an operator's own log. */
  readonly logs?: readonly ReleaseLog[] | undefined;
  readonly now: Date;
}

export type ReleaseReading =
  | { readonly release: VerifiedRelease }
  | { readonly refused: { readonly check: ReleaseCheckName; readonly reason: string } };

/** How much clocks may differ. */
const toleranceMs = 5 * 60_000;

/**
 * Verifies a release, without a network: a Sigstore bundle, or a release of an operator's own log. Never throws: a
 * refusal names the check that failed.
 */
export async function readRelease(document: unknown, question: ReleaseQuestion): Promise<ReleaseReading> {
  try {
    return {
      release: isLoggedRelease(document) ? readLogged(document, question) : await readSigstore(document, question),
    };
  } catch (error) {
    if (!(error instanceof ReleaseRefusal)) throw error;
    return { refused: { check: error.check, reason: error.reason } };
  }
}

/** Whether a document is of an operator's own log. Any other is read as a bundle of Sigstore. */
export const isLoggedRelease = (document: unknown): boolean => asObject(document)?.format === loggedReleaseFormat;

async function readSigstore(document: unknown, question: ReleaseQuestion): Promise<VerifiedRelease> {
  const { signer, trustedRoot = shippedTrustedRoot, now } = question;
  if (signer === undefined) {
    throw new ReleaseRefusal('release.identity', 'it is no release of a log of yours, and no identity was given');
  }
  // Browsers and most commands never need it.
  const { openSigstoreBundle } = await import('./sigstore.ts');
  const { payload, loggedAt, log } = openSigstoreBundle(document, trustedRoot, signer);
  const statement = readStatement(payload);
  requireNotBefore(loggedAt, statement, 'the log had it');
  requireNotBefore(now.getTime(), { released_at: iso(loggedAt) }, 'your clock says');
  return {
    statement,
    log: undefined,
    pinned: pinnedOf(statement, payload, { logged_at: iso(loggedAt), log, signed_by: { ...signer } }),
  };
}

function readLogged(document: unknown, { logs = [], now }: ReleaseQuestion): VerifiedRelease {
  const parsed = loggedReleaseSchema.safeParse(document);
  if (!parsed.success) throw new ReleaseRefusal('release.format', problemOf(parsed.error, 'it'));
  const origin = readCheckpoint(parsed.data.checkpoint)?.origin;
  // With one log, a checkpoint of another is that log's problem. With several, its origin says which key to ask.
  const log = logs.length === 1 ? logs[0] : logs.find(({ key }) => readNoteKey(key)?.name === origin);
  if (log === undefined) {
    throw new ReleaseRefusal(
      'release.key',
      `your pins name no key of the log ${origin ?? '(malformed)'}; pass the key that its operator publishes`,
    );
  }
  const opened = openLoggedRelease(parsed.data, acceptedLog(log));
  const statement = readStatement(opened.payload);
  requireNotBefore(
    Math.min(now.getTime(), ...opened.cosignedAt.map((seconds) => seconds * 1000)),
    statement,
    'it was seen',
  );
  return {
    statement,
    log: { ...log, checkpoint: parsed.data.checkpoint },
    pinned: pinnedOf(statement, opened.payload, {
      logged_at: statement.released_at,
      log: `${origin}, entry ${parsed.data.index}`,
      signed_by: { key: log.key },
    }),
  };
}

/** Reads the keys of a log. Throws `ReleaseRefusal` for one that is malformed. */
function acceptedLog({ key, witnesses = [], checkpoint }: ReleaseLog): PinnedLog {
  const last = checkpoint === undefined ? undefined : readCheckpoint(checkpoint);
  if (checkpoint !== undefined && last === undefined) {
    throw new ReleaseRefusal('release.consistency', 'the checkpoint in your pins is malformed');
  }
  return { key: keyOf(key, 'note'), witnesses: witnesses.map((each) => keyOf(each, 'cosignature')), last };
}

function keyOf(text: string, kind: 'note' | 'cosignature'): ReturnType<typeof readNoteKey> & object {
  const key = readNoteKey(text);
  if (key?.kind === kind) return key;
  const takes =
    kind === 'note' ? 'a log (the first base64 digits are AQ…)' : 'a witness (the first base64 digits are BA…)';
  throw new ReleaseRefusal('release.key', `${text} is not the Ed25519 key of ${takes}`);
}

/** A release cannot be logged before it was made. Its time is what the signer says. */
function requireNotBefore(seenAt: number, { released_at }: Pick<ReleaseStatement, 'released_at'>, how: string): void {
  if (Date.parse(released_at) <= seenAt + toleranceMs) return;
  throw new ReleaseRefusal('release.time', `it is of ${released_at}, and ${how} at ${iso(seenAt)}`);
}

function pinnedOf(
  { version, commit, released_at }: ReleaseStatement,
  payload: Uint8Array,
  logged: Pick<PinnedRelease, 'logged_at' | 'log' | 'signed_by'>,
): PinnedRelease {
  return { version, commit, released_at, ...logged, statement_sha256: toHex(sha256(payload)) };
}

/** Without the parts of a second. */
const iso = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;
