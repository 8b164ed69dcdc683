import { type Bundle, bundleFromJSON, isBundleWithDsseEnvelope, ValidationError } from '@sigstore/bundle';
import { type TransparencyLogEntry, TrustedRoot } from '@sigstore/protobuf-specs';
import {
  type SignedEntity,
  Verifier as SigstoreVerifier,
  type TrustMaterial,
  toSignedEntity,
  toTrustMaterial,
  VerificationError,
  type Verifier,
} from '@sigstore/verify';
import { type ReleaseCheckName, ReleaseRefusal } from './refusal.ts';
import { statementMediaType } from './statement.ts';

/** The workflow or person that must have signed a release. Both are compared as a whole. */
export interface SigstoreSigner {
  /** The subject of the certificate, such as `https://github.com/o/r/.github/workflows/release.yml@refs/tags/v0.2.0`. */
  readonly identity: string;
  /** The authority that vouched for it, such as `https://token.actions.githubusercontent.com`. */
  readonly issuer: string;
}

export interface SigstoreFinding {
  readonly payload: Uint8Array;
  /** Unix ms: the earliest time that a log or a time stamp authority signed. */
  readonly loggedAt: number;
  /** The log and the number of the entry in it. */
  readonly log: string;
}

/**
 * Verifies a Sigstore bundle without a network: certificate, signature, log entry, inclusion proof and checkpoint, by
 * the authorities of `trustedRoot`. Throws a `ReleaseRefusal`.
 */
export function openSigstoreBundle(document: unknown, trustedRoot: unknown, signer: SigstoreSigner): SigstoreFinding {
  const { root, material } = readRoot(trustedRoot);
  const bundle = readBundle(document);
  const entity = readEntity(bundle);
  requireSigner(verified(entity, material), signer);
  const [entry] = bundle.verificationMaterial.tlogEntries;
  const log = root.tlogs.find(({ logId, checkpointKeyId }) =>
    Buffer.from((checkpointKeyId ?? logId)?.keyId ?? []).equals(entry?.logId?.keyId ?? Buffer.alloc(0)),
  );
  return {
    payload: bundle.content.dsseEnvelope.payload,
    loggedAt: Math.min(...signedTimes(entity)),
    log: `${log?.baseUrl ?? 'unknown log'}, entry ${entry && signedIndex(entry)}`,
  };
}

/** A log that promised inclusion signed the number that its search takes. Of other logs, only the proof has a number. */
const signedIndex = ({ inclusionPromise, inclusionProof, logIndex }: TransparencyLogEntry): string =>
  inclusionPromise === undefined ? (inclusionProof?.logIndex ?? '') : logIndex;

type DsseBundle = Bundle & { content: { $case: 'dsseEnvelope' } };

function readRoot(document: unknown): { readonly root: TrustedRoot; readonly material: TrustMaterial } {
  try {
    const root = TrustedRoot.fromJSON(document);
    const material = toTrustMaterial(root);
    if (root.tlogs.length > 0 && root.certificateAuthorities.length > 0) return { root, material };
  } catch {
    // The reason below says the same.
  }
  throw new ReleaseRefusal(
    'release.trusted_root',
    'the trusted root is no `trusted_root.json` of Sigstore that names a log and a certificate authority',
  );
}

/** Accepts only what has all parts: a certificate, a signed statement, and one log entry with its proof and checkpoint. */
function readBundle(document: unknown): DsseBundle {
  const bundle = parsedBundle(document);
  if (!isBundleWithDsseEnvelope(bundle) || bundle.content.dsseEnvelope.payloadType !== statementMediaType) {
    throw new ReleaseRefusal('release.format', 'the bundle signs no in-toto statement');
  }
  const { content, tlogEntries } = bundle.verificationMaterial;
  if (content.$case === 'publicKey') {
    throw new ReleaseRefusal(
      'release.certificate',
      'the bundle has a key instead of a certificate, so it names no identity',
    );
  }
  const [entry, ...more] = tlogEntries;
  if (entry === undefined || more.length > 0) {
    throw new ReleaseRefusal('release.log_entry', `the bundle has ${tlogEntries.length} log entries, not one`);
  }
  // Bundles of version 0.1 may lack them.
  if (entry.inclusionProof === undefined) throw new ReleaseRefusal('release.inclusion', 'it has no inclusion proof');
  if ((entry.inclusionProof.checkpoint?.envelope ?? '') === '') {
    throw new ReleaseRefusal('release.checkpoint', 'it has no checkpoint');
  }
  return bundle;
}

/** The library says which field is missing, and the check that needs the field is the one that fails. */
function parsedBundle(document: unknown): Bundle {
  try {
    return bundleFromJSON(document);
  } catch (error) {
    const fields: readonly string[] = error instanceof ValidationError ? error.fields : [];
    const [field] = fields;
    if (field === undefined) throw new ReleaseRefusal('release.format', 'it is no Sigstore bundle');
    const check = parts.find(([part]) => field.endsWith(part))?.[1] ?? 'release.format';
    throw new ReleaseRefusal(check, `it has no usable \`${field}\``);
  }
}

const parts: readonly (readonly [string, ReleaseCheckName])[] = [
  ['.checkpoint', 'release.checkpoint'],
  ['.inclusionProof', 'release.inclusion'],
  ['.inclusionPromise', 'release.time'],
  ['.tlogEntries', 'release.log_entry'],
];

/** Parses certificate, signature and time stamps. */
function readEntity(bundle: DsseBundle): SignedEntity {
  try {
    return toSignedEntity(bundle);
  } catch {
    throw new ReleaseRefusal('release.format', 'its certificate or time stamp is malformed');
  }
}

function verified(entity: SignedEntity, material: TrustMaterial): ReturnType<Verifier['verify']> {
  try {
    return new SigstoreVerifier(material).verify(entity);
  } catch (error) {
    if (error instanceof VerificationError) throw new ReleaseRefusal(checkOf(error), inWords(error.message));
    throw new ReleaseRefusal('release.format', 'a part of it is malformed');
  }
}

const checks: ReadonlyMap<string, ReleaseCheckName> = new Map([
  ['CERTIFICATE_ERROR', 'release.certificate'],
  ['PUBLIC_KEY_ERROR', 'release.certificate'],
  ['SIGNATURE_ERROR', 'release.signature'],
  ['TIMESTAMP_ERROR', 'release.time'],
  ['TLOG_INCLUSION_PROOF_ERROR', 'release.inclusion'],
]);

/** The library has one code for a wrong proof and for a wrong checkpoint. */
function checkOf({ code, message }: VerificationError): ReleaseCheckName {
  if (code === 'TLOG_INCLUSION_PROOF_ERROR' && /checkpoint|signature/.test(message)) return 'release.checkpoint';
  return checks.get(code) ?? 'release.log_entry';
}

const inWords = (message: string): string => message.charAt(0).toLowerCase() + message.slice(1);

/** The library would read an identity as a regular expression, so that one of another branch could match. */
function requireSigner(found: ReturnType<Verifier['verify']>, { identity, issuer }: SigstoreSigner): void {
  const { subjectAlternativeName: subject, extensions } = found.identity ?? {};
  if (subject !== identity) {
    throw new ReleaseRefusal(
      'release.identity',
      `it is signed by ${subject ?? 'an unknown identity'}, not ${identity}`,
    );
  }
  if (extensions?.issuer !== issuer) {
    throw new ReleaseRefusal(
      'release.issuer',
      `${extensions?.issuer ?? 'an unknown issuer'} vouched for the signer, not ${issuer}`,
    );
  }
}

/** Only a log that promised inclusion signed its time. Newer logs have none, and a time stamp authority signs it. */
function signedTimes({ timestamps }: SignedEntity): number[] {
  return timestamps.flatMap((each) => {
    if (each.$case === 'timestamp-authority') return each.timestamp.signingTime.getTime();
    return each.tlogEntry.inclusionPromise === undefined ? [] : Number(each.tlogEntry.integratedTime) * 1000;
  });
}
