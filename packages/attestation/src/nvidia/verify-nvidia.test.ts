import { sha256 } from '@noble/hashes/sha2.js';
import { exportJWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { fromBase64, toBase64, toHex } from '../bytes.ts';
import { nvidiaIntermediates } from '../pinned-roots.ts';
import { Issuer } from '../testing/issuer.ts';
import { failed, notMade, reasonOf } from '../testing/outcomes.ts';
import { vectorJson } from '../testing/vectors.ts';
import { parseCertificate } from '../x509/certificate.ts';
import { verifyChain } from '../x509/chain.ts';
import { type NvidiaEvidence, verifyNvidiaUnder } from './verify-nvidia.ts';

const nonce = 'ab'.repeat(32);
const now = new Date('2026-01-15T12:00:00Z');
const seconds = now.getTime() / 1000;

const gpuClaims = {
  hwmodel: 'GH100 A01 GSP BROM',
  dbgstat: 'disabled',
  secboot: true,
  measres: 'success',
  'x-nvidia-gpu-attestation-report-nonce-match': true,
  'x-nvidia-gpu-attestation-report-signature-verified': true,
};

let intermediate: Issuer;
let signer: Issuer;
let keySet: { keys: Record<string, unknown>[] };
beforeAll(async () => {
  intermediate = await Issuer.make('Test Intermediate 004', 'rsa');
  signer = await Issuer.make('Test Attestation Service', 'p384');
  const leaf = await intermediate.certify({ subject: signer.name, spki: signer.spki });
  keySet = { keys: [{ kid: 'today', kty: 'EC', x5c: [toBase64(leaf)] }] };
});

interface Changes {
  readonly overall?: Record<string, unknown>;
  readonly gpu?: Record<string, unknown>;
  readonly both?: Record<string, unknown>;
  readonly kid?: string;
}

async function tokensOf({ overall, gpu, both, kid = 'today' }: Changes = {}): Promise<unknown[]> {
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT({
      iss: 'https://nras.attestation.nvidia.com',
      eat_nonce: nonce,
      nbf: seconds - 60,
      exp: seconds + 3540,
      ...claims,
      ...both,
    })
      .setProtectedHeader({ alg: 'ES384', kid })
      .sign(signer.privateKey);
  const gpuToken = await sign({ ...gpuClaims, ...gpu });
  const submods = { 'GPU-0': ['DIGEST', ['SHA-256', toHex(sha256(new TextEncoder().encode(gpuToken)))]] };
  return [['JWT', await sign({ 'x-nvidia-overall-att-result': true, submods, ...overall })], { 'GPU-0': gpuToken }];
}

const verify = (evidence: NvidiaEvidence, at = now) =>
  verifyNvidiaUnder([intermediate.anchor], evidence, nonce, { now: at });

it('passes tokens of a key under a pinned intermediate', async () => {
  const result = await verify({ tokens: await tokensOf(), keySet });
  expect(failed(result.checks)).toEqual([]);
  expect(result.standing).toBe('token_checked');
  expect(result.gpus).toEqual([{ name: 'GPU-0', model: 'GH100 A01 GSP BROM' }]);
});

it('reports a key set without chains, and missing tokens', async () => {
  const publicKey = await crypto.subtle.importKey('spki', signer.spki, { name: 'ECDSA', namedCurve: 'P-384' }, true, [
    'verify',
  ]);
  const bare = { keys: [{ ...(await exportJWK(publicKey)), kid: 'today' }] };
  const result = await verify({ tokens: await tokensOf(), keySet: bare });
  expect(result.standing).toBe('key_unpinned');
  expect(notMade(result.checks)).toEqual(['nvidia.key_chain']);
  expect((await verify({})).standing).toBe('none');
});

describe('tokens that are refuted', () => {
  it.each<[string, Changes, string]>([
    ['for another nonce', { both: { eat_nonce: 'cd'.repeat(32) } }, 'nvidia.overall_token'],
    ['of one GPU for another nonce', { gpu: { eat_nonce: 'cd'.repeat(32) } }, 'nvidia.gpu_tokens'],
    ['without a nonce', { both: { eat_nonce: undefined } }, 'nvidia.overall_token'],
    ['of another issuer', { both: { iss: 'NVAT-LOCAL-VERIFIER' } }, 'nvidia.overall_token'],
    ['expired', { both: { exp: seconds } }, 'nvidia.gpu_tokens'],
    ['of the future', { both: { nbf: seconds + 60 } }, 'nvidia.gpu_tokens'],
    ['that never expire', { both: { exp: undefined } }, 'nvidia.overall_token'],
    ['by which NVIDIA does not vouch', { overall: { 'x-nvidia-overall-att-result': false } }, 'nvidia.overall_token'],
    ['whose overall token names no GPU', { overall: { submods: {} } }, 'nvidia.overall_token'],
    [
      'whose overall token has another digest',
      { overall: { submods: { 'GPU-0': ['DIGEST', ['SHA-256', '00']] } } },
      'nvidia.overall_token',
    ],
    ['whose overall token has claims of wrong types', { overall: { submods: 'GPU-0' } }, 'nvidia.overall_token'],
    ['of a GPU that can be debugged', { gpu: { dbgstat: 'enabled' } }, 'nvidia.gpu_claims'],
    ['of a GPU without secure boot', { gpu: { secboot: false } }, 'nvidia.gpu_claims'],
    ['of a GPU with other measurements', { gpu: { measres: 'fail' } }, 'nvidia.gpu_claims'],
    [
      'of a GPU whose report was for another nonce',
      { gpu: { 'x-nvidia-gpu-attestation-report-nonce-match': false } },
      'nvidia.gpu_claims',
    ],
    ['of a GPU that says nothing of debugging', { gpu: { dbgstat: undefined } }, 'nvidia.gpu_claims'],
    ['of a key that is not in the set', { kid: 'yesterday' }, 'nvidia.overall_token'],
  ])('%s', async (_, changes, name) => {
    const result = await verify({ tokens: await tokensOf(changes), keySet });
    expect(failed(result.checks)).toContain(name);
    expect(result.standing).toBe('refuted');
  });

  it('of a key under an intermediate that is not pinned, which is named', async () => {
    const other = await Issuer.make('Test Intermediate 005', 'rsa');
    const chain = [
      await other.certify({ subject: signer.name, spki: signer.spki }),
      await other.certify({ subject: other.name, spki: other.spki, authority: true }),
    ];
    const unknown = { keys: [{ kid: 'today', kty: 'EC', x5c: chain.map(toBase64) }] };
    const result = await verify({ tokens: await tokensOf(), keySet: unknown });
    expect(failed(result.checks)).toEqual(['nvidia.key_chain']);
    expect(reasonOf(result.checks, 'nvidia.key_chain')).toContain('Test Intermediate 005, which is not pinned');
  });

  it('of a new leaf under the pinned intermediate only while it is valid', async () => {
    const leaf = await intermediate.certify({ subject: 'New', spki: signer.spki, until: '2026-01-15T11:00:00Z' });
    const expired = { keys: [{ kid: 'today', kty: 'EC', x5c: [toBase64(leaf)] }] };
    expect(failed((await verify({ tokens: await tokensOf(), keySet: expired })).checks)).toEqual(['nvidia.key_chain']);
  });

  it('altered on their way, unsigned, or with a GPU token more', async () => {
    const [overall, gpus] = (await tokensOf()) as [[string, string], Record<string, string>];
    const token = gpus['GPU-0'] ?? '';
    const [head, , signature] = token.split('.');
    const altered = `${head}.${btoa(JSON.stringify({ ...gpuClaims, eat_nonce: nonce })).replaceAll('=', '')}.${signature}`;
    const none = `${btoa('{"alg":"none","kid":"today"}').replaceAll('=', '')}.${token.split('.')[1]}.`;
    for (const changed of [altered, none, `${token}x`, '']) {
      expect((await verify({ tokens: [overall, { 'GPU-0': changed }], keySet })).standing, changed).toBe('refuted');
    }
    const more = await verify({ tokens: [overall, { ...gpus, 'GPU-1': token }], keySet });
    expect(failed(more.checks)).toEqual(['nvidia.overall_token']);
  });

  it('with an invalid time', async () => {
    expect((await verify({ tokens: await tokensOf(), keySet }, new Date('no time'))).standing).toBe('refuted');
  });

  it.each([
    null,
    7,
    'tokens',
    '[["JWT","x"],{}]',
    {},
    [],
    [['JWT', 'a.b.c'], {}],
    [['JWT', 7], { 'GPU-0': 8 }],
    [['JWT', 'x'], [1]],
  ])('that are malformed: %j', async (tokens) => {
    expect((await verify({ tokens, keySet })).standing).toBe('refuted');
    expect((await verify({ tokens: await tokensOf(), keySet: tokens })).standing).toBe('refuted');
  });
});

describe('real tokens', () => {
  it('of 2025 are refuted: they expired and their key was withdrawn, but their digests agree', async () => {
    const tokens = vectorJson<[[string, string], Record<string, string>]>('nvidia/hopperClaimsv3_detached_eat.json');
    const result = await verifyNvidiaUnder(nvidiaIntermediates, { tokens, keySet }, nonce, { now });
    expect(result.standing).toBe('refuted');
    const overall = JSON.parse(atob(tokens[0][1].split('.')[1] ?? '')) as {
      submods: Record<string, [string, string[]]>;
    };
    expect(overall.submods['GPU-0']?.[1][1]).toBe(toHex(sha256(new TextEncoder().encode(tokens[1]['GPU-0']))));
  });

  it('of a local verifier, unsigned and with a nonce of ones, are refuted', async () => {
    const { detached_eat: tokens } = vectorJson<{ detached_eat: unknown }>('dstack/gpu_attestation_h100.json');
    expect((await verifyNvidiaUnder(nvidiaIntermediates, { tokens, keySet }, '11'.repeat(32), { now })).standing).toBe(
      'refuted',
    );
  });

  it('are signed by keys whose real chain ends at the pinned intermediate, for two days', async () => {
    const [leaf = ''] = vectorJson<{ x5c: string[] }>('nvidia/nras_gpu_x5c_chain.json').x5c;
    const certificate = parseCertificate(fromBase64(leaf, 'leaf'));
    const [anchor] = nvidiaIntermediates;
    if (anchor === undefined) throw new Error('an intermediate is pinned');
    const at = (instant: string) => ({ earliestMs: Date.parse(instant), latestMs: Date.parse(instant) });
    await expect(verifyChain([certificate], anchor, at('2026-06-09T00:00:00Z'))).resolves.toHaveLength(1);
    await expect(verifyChain([certificate], anchor, at('2026-06-11T00:00:00Z'))).rejects.toThrow('ended');
  });
});
