import { sha256 } from '@noble/hashes/sha2.js';
import { type CryptoKey, decodeProtectedHeader, errors, importJWK, type JWTPayload, jwtVerify } from 'jose';
import * as z from 'zod';
import { fromBase64, sameBytes, toHex } from '../bytes.ts';
import { type Moment, momentAt, type VerificationTime } from '../moment.ts';
import { Refusal, readOrRefuse, Unmade } from '../refusal.ts';
import { type Check, CheckList } from '../verdict.ts';
import { type Certificate, parseCertificate } from '../x509/certificate.ts';
import { type TrustAnchor, verifyChain } from '../x509/chain.ts';
import { curveOf } from '../x509/signature.ts';

export const nvidiaChecks = [
  'nvidia.format',
  'nvidia.keys',
  'nvidia.overall_token',
  'nvidia.gpu_tokens',
  'nvidia.gpu_claims',
  'nvidia.key_chain',
] as const;
export type NvidiaCheckName = (typeof nvidiaChecks)[number];

/**
 * The findings about the GPUs. They are separate from the verdict and never raise it, because a token does not say
 * which machine contains a GPU.
 * - `none`: no token was given.
 * - `refuted`: a check failed.
 * - `key_unpinned`: valid if the caller knows that the key set is NVIDIA's.
 * - `token_checked`: the key is also under a pinned intermediate.
 */
export type GpuStanding = 'none' | 'refuted' | 'key_unpinned' | 'token_checked';

export interface NvidiaEvidence {
  /** The answer of the remote attestation service: `[["JWT", overall], {"GPU-0": token, …}]`. */
  readonly tokens?: unknown;
  /** The service's key set (JWKS). It may come from an untrusted party, so its keys count only with a chain (`x5c`). */
  readonly keySet?: unknown;
}

export interface NvidiaVerification {
  readonly standing: GpuStanding;
  readonly checks: readonly Check<NvidiaCheckName>[];
  /** The GPUs in the tokens, with their model. */
  readonly gpus: readonly { readonly name: string; readonly model: string }[];
}

const issuer = 'https://nras.attestation.nvidia.com';
const token = z.string().max(65_536);
const answerSchema = z.tuple([z.tuple([z.literal('JWT'), token]), z.record(z.string().max(32), token)]);
const keySetSchema = z.object({
  keys: z
    .array(
      z.looseObject({
        kid: z.string().max(256),
        kty: z.literal('EC'),
        x5c: z.array(z.string().max(32_768)).max(5).optional(),
      }),
    )
    .max(64),
});
type KeySet = z.infer<typeof keySetSchema>;
const digest = z.tuple([z.literal('DIGEST'), z.tuple([z.enum(['SHA-256', 'SHA256']), z.string()])]);
const overallSchema = z.object({
  'x-nvidia-overall-att-result': z.boolean(),
  submods: z.record(z.string(), digest),
});
const gpuSchema = z.object({
  hwmodel: z.string().max(128),
  dbgstat: z.string(),
  secboot: z.boolean(),
  measres: z.string(),
  'x-nvidia-gpu-attestation-report-nonce-match': z.boolean(),
  'x-nvidia-gpu-attestation-report-signature-verified': z.boolean(),
});
type GpuClaims = z.infer<typeof gpuSchema>;

const maximumGpus = 16;

/**
 * Verifies NVIDIA's tokens for `nonce` (64 lower-case hex digits), under `intermediates`. Never throws: every input
 * leads to a standing and its checks. The public function is `verifyNvidia`, which fixes the intermediates.
 */
export async function verifyNvidiaUnder(
  intermediates: readonly TrustAnchor[],
  evidence: NvidiaEvidence,
  nonce: string,
  time: VerificationTime,
): Promise<NvidiaVerification> {
  const checks = new CheckList<NvidiaCheckName>(nvidiaChecks);
  if (evidence.tokens === undefined) return { standing: 'none', checks: checks.list(), gpus: [] };
  const task: TokenTask = { nonce, time };
  const answer = await checks.make('nvidia.format', () => readAnswer(evidence.tokens));
  const keys = await checks.make('nvidia.keys', () =>
    readOrRefuse(keySetSchema, evidence.keySet, 'the key set is not a set of EC keys'),
  );
  if (answer === undefined || keys === undefined) return conclude(checks, []);
  const moment = momentAt(time);
  const gpuTokens = Object.values(answer.gpus);
  await checks.make('nvidia.overall_token', async () => {
    requireOverall(await verifyToken(answer.overall, keys, task), answer.gpus);
  });
  const claims = await checks.make('nvidia.gpu_tokens', async () => {
    const verified: JWTPayload[] = [];
    for (const gpuToken of gpuTokens) verified.push(await verifyToken(gpuToken, keys, task));
    return verified;
  });
  const names = Object.keys(answer.gpus);
  const gpus = claims && (await checks.make('nvidia.gpu_claims', () => claims.map(requireGpu)));
  await checks.make('nvidia.key_chain', async () => {
    for (const used of [answer.overall, ...gpuTokens]) await requirePinned(keyOf(used, keys), intermediates, moment);
  });
  return conclude(
    checks,
    (gpus ?? []).map(({ hwmodel }, index) => ({ name: names[index] ?? '', model: hwmodel })),
  );
}

function conclude(checks: CheckList<NvidiaCheckName>, gpus: NvidiaVerification['gpus']): NvidiaVerification {
  const list = checks.list();
  const unpassed = list.filter(({ outcome }) => outcome !== 'passed');
  const onlyChain = unpassed.every(({ name, outcome }) => name === 'nvidia.key_chain' && outcome === 'not_made');
  const standing = unpassed.length === 0 ? 'token_checked' : onlyChain ? 'key_unpinned' : 'refuted';
  return { standing, checks: list, gpus };
}

interface Answer {
  readonly overall: string;
  readonly gpus: Readonly<Record<string, string>>;
}

function readAnswer(tokens: unknown): Answer {
  const [[, overall], gpus] = readOrRefuse(answerSchema, tokens, 'the tokens are not of the form of NVIDIA’s service');
  const count = Object.keys(gpus).length;
  if (count === 0 || count > maximumGpus)
    throw new Refusal(`there are tokens of ${count} GPUs, not of 1 to ${maximumGpus}`);
  return { overall, gpus };
}

interface TokenTask {
  readonly nonce: string;
  readonly time: VerificationTime;
}

/** Checks signature (only ES384), issuer, dates and nonce of one token. */
async function verifyToken(jwt: string, keys: KeySet, { nonce, time }: TokenTask): Promise<JWTPayload> {
  // With an invalid date, every comparison of dates would pass.
  if (!Number.isFinite(time.now.getTime())) throw new Refusal('the time of the verification is no time');
  const key = await publicKey(keyOf(jwt, keys));
  const options = {
    algorithms: ['ES384'],
    issuer,
    currentDate: time.now,
    clockTolerance: Math.floor((time.toleranceMs ?? 0) / 1000),
    requiredClaims: ['exp', 'nbf', 'eat_nonce'],
  };
  const { payload } = await jwtVerify(jwt, key, options).catch((error: unknown) => {
    throw new Refusal(`a token is not accepted: ${error instanceof errors.JOSEError ? error.code : 'it is malformed'}`);
  });
  if (payload.eat_nonce !== nonce) throw new Refusal('a token is for another nonce');
  return payload;
}

function keyOf(jwt: string, { keys }: KeySet): KeySet['keys'][number] {
  const { kid } = decodeProtectedHeader(jwt);
  const key = keys.find((candidate) => candidate.kid === kid);
  if (key === undefined) throw new Refusal('a token is signed with a key that is not in the key set');
  return key;
}

/** If a key carries a chain, the key of the leaf is used: the key that the set states beside it could differ. */
async function publicKey(key: KeySet['keys'][number]): Promise<CryptoKey> {
  if (key.x5c === undefined) {
    const imported = await importJWK({ ...key, x5c: [] }, 'ES384');
    if (imported instanceof Uint8Array) throw new Refusal('the key set holds a secret key');
    return imported;
  }
  const { spki } = leafOf(key.x5c);
  if (curveOf(spki) !== 'P-384') throw new Refusal('the key of a token is not on P-384');
  return crypto.subtle.importKey('spki', spki, { name: 'ECDSA', namedCurve: 'P-384' }, false, ['verify']);
}

function leafOf([leaf]: readonly string[]): Certificate {
  if (leaf === undefined) throw new Refusal('the chain of a key is empty');
  return parseCertificate(fromBase64(leaf, 'the chain of a key'));
}

async function requirePinned(
  key: KeySet['keys'][number],
  intermediates: readonly TrustAnchor[],
  moment: Moment,
): Promise<void> {
  if (key.x5c === undefined) throw new Unmade('a key of the set has no chain');
  const leaf = leafOf(key.x5c);
  const anchor = intermediates.find(({ subject }) => sameBytes(subject, leaf.issuer));
  if (anchor === undefined)
    throw new Refusal(`the key of a token is certified by ${nameOf(key.x5c[1])}, which is not pinned`);
  await verifyChain([leaf], anchor, moment);
}

function nameOf(certificate: string | undefined): string {
  return (certificate === undefined ? undefined : leafOf([certificate]).commonName) ?? 'an unnamed key';
}

/** The overall token contains the digest of each GPU's token, and covers no other. */
function requireOverall(payload: JWTPayload, gpus: Answer['gpus']): void {
  const claims = readOrRefuse(overallSchema, payload, 'the overall token has not the claims that it must have');
  const { submods } = claims;
  if (!claims['x-nvidia-overall-att-result']) throw new Refusal('NVIDIA does not vouch for the GPUs');
  if (Object.keys(submods).sort().join() !== Object.keys(gpus).sort().join()) {
    throw new Refusal('the overall token is about other GPUs');
  }
  for (const [name, jwt] of Object.entries(gpus)) {
    if (submods[name]?.[1][1] !== toHex(sha256(new TextEncoder().encode(jwt)))) {
      throw new Refusal(`the token of ${JSON.stringify(name)} is not the one that the overall token names`);
    }
  }
}

function requireGpu(payload: JWTPayload): GpuClaims {
  const claims = readOrRefuse(gpuSchema, payload, 'the token of a GPU has not the claims that it must have');
  if (claims.dbgstat !== 'disabled') throw new Refusal('a GPU can be debugged');
  if (!claims.secboot) throw new Refusal('a GPU did not boot securely');
  if (claims.measres !== 'success') throw new Refusal('the measurements of a GPU are not as they should be');
  if (!claims['x-nvidia-gpu-attestation-report-nonce-match'])
    throw new Refusal('the report of a GPU is for another nonce');
  if (!claims['x-nvidia-gpu-attestation-report-signature-verified']) {
    throw new Refusal('the report of a GPU has a bad signature');
  }
  return claims;
}
