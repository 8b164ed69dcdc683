/** The checks of a release. The first that fails ends the verification; a release of each kind has its own order. */
export const releaseChecks = [
  'release.format',
  'release.trusted_root',
  'release.certificate',
  'release.identity',
  'release.issuer',
  'release.key',
  'release.signature',
  'release.log_entry',
  'release.checkpoint',
  'release.inclusion',
  'release.witnesses',
  'release.consistency',
  'release.statement',
  'release.time',
  'release.age',
] as const;
export type ReleaseCheckName = (typeof releaseChecks)[number];

/** Why a release is refused. `readRelease` returns it instead of throwing it. */
export class ReleaseRefusal extends Error {
  override readonly name = 'ReleaseRefusal';
  readonly check: ReleaseCheckName;
  /** The end of a sentence, without a full stop. It quotes only names, numbers and digests of the bundle. */
  readonly reason: string;

  constructor(check: ReleaseCheckName, reason: string) {
    super(`${check}: ${reason}`);
    this.check = check;
    this.reason = reason;
  }
}
