import { timeSchema } from '@sotto/attestation';
import * as z from 'zod';

/** The public key of a log or witness: name, id and base64 (https://c2sp.org/signed-note). */
const noteKeyText = z
  .string()
  .max(512)
  .regex(
    /^[^\s+\p{C}]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]{43}[A-Za-z0-9+/=]$/u,
    'must be a public key such as `log.example.com+1a2b3c4d+AQ…`',
  );

/** A release that `sotto pins add` accepted. The machines of the pins name it by its version. */
export const pinnedReleaseSchema = z.strictObject({
  version: z.string().max(128),
  commit: z.string().max(64),
  released_at: timeSchema,
  /** When the log had it. An own log has no clock, so this is the time of the release. */
  logged_at: timeSchema,
  /** The log, and the number of the entry in it. */
  log: z.string().max(512),
  signed_by: z.union([
    z.strictObject({ identity: z.string().max(2048), issuer: z.string().max(2048) }),
    z.strictObject({ key: noteKeyText }),
  ]),
  /** Of the signed bytes. */
  statement_sha256: z.hash('sha256'),
});
export type PinnedRelease = z.infer<typeof pinnedReleaseSchema>;

/** An operator's log whose releases the pins accept. */
export const releaseLogSchema = z.strictObject({
  key: noteKeyText,
  witnesses: z.array(noteKeyText).optional(),
  /** The last that was accepted. A log that does not begin with it is refused. */
  checkpoint: z.string().max(65_536).optional(),
});
export type ReleaseLog = z.infer<typeof releaseLogSchema>;

/** The signer of a release. The tag that ends the identity of a workflow is left out, because each version has its own. */
export const signerOf = ({ signed_by }: PinnedRelease): string =>
  'key' in signed_by ? signed_by.key : `${signed_by.issuer} ${signed_by.identity.replace(/@refs\/tags\/[^@]*$/, '')}`;

/** The release that was logged last. */
export const newestOf = (releases: readonly PinnedRelease[]): PinnedRelease | undefined =>
  releases.reduce<PinnedRelease | undefined>(
    (newest, each) =>
      newest === undefined || Date.parse(each.logged_at) > Date.parse(newest.logged_at) ? each : newest,
    undefined,
  );

/** The release of each signer that was logged last. */
export const newestReleases = (releases: readonly PinnedRelease[]): PinnedRelease[] =>
  releases.filter((each) => each === newestOf(releases.filter((other) => signerOf(other) === signerOf(each))));
