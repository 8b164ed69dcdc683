import {
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  privateDecrypt,
  publicEncrypt,
  verify,
} from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { readFileOrPart, type Settings, type SettingsOf } from '@sotto/server';
import { type CreditIssuer, creditChallenge, creditInput, creditSpki, nonceBytes, tokenInputBytes } from '@sotto/wire';
import { readYamlAs } from '@sotto/yaml';
import * as z from 'zod';

/** Returns the file of the issuer's keys. Undefined: anonymous wallets are off. */
export function readCreditKeysFile(
  env: Pick<SettingsOf<'control'>, 'ANONYMOUS_WALLETS' | 'CREDIT_KEYS_FILE'>,
  { monthlyGrantNusd }: { readonly monthlyGrantNusd: bigint | undefined },
): Settings<string | undefined> {
  if (env.ANONYMOUS_WALLETS === 'off') return { ok: true, settings: undefined };
  const problem =
    monthlyGrantNusd !== undefined
      ? 'BILLING is `none`: nothing is paid for, so nothing can become credits'
      : env.CREDIT_KEYS_FILE === undefined
        ? 'CREDIT_KEYS_FILE is not set'
        : undefined;
  if (problem !== undefined) return { ok: false, message: `ANONYMOUS_WALLETS is \`on\`, but ${problem}` };
  return { ok: true, settings: env.CREDIT_KEYS_FILE };
}

/** `CREDIT_KEYS_FILE`: the issuer's name, which never changes, and its key of each year. Old keys may be public. */
const keysFileSchema = z.strictObject({
  issuer: z.string().regex(/^[a-z0-9.-]{1,253}$/, { error: 'must be a lower-case host name' }),
  keys: z.array(z.strictObject({ year: z.int().min(2026).max(2999), pem: z.string() })).min(1),
});

interface IssuerKey {
  readonly keyId: string;
  /** The UTC year in which it signs. */
  readonly year: number;
  readonly spki: Buffer;
  readonly publicKey: KeyObject;
  /** Undefined: it only redeems. */
  readonly privateKey: KeyObject | undefined;
}

/** A credit whose signature is right. */
export interface Credit {
  readonly keyId: string;
  readonly nonce: Buffer;
}

const dayMs = 86_400_000;
const rsaBytes = 256;
const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** Signs blinded numbers and verifies credits. It knows nothing about accounts and wallets. */
export class Issuer {
  readonly name: string;
  readonly #keys: ReadonlyMap<string, IssuerKey>;
  readonly #challengeDigest: Buffer;

  constructor(name: string, keys: readonly IssuerKey[]) {
    this.name = name;
    this.#keys = new Map(keys.map((key) => [key.keyId, key]));
    this.#challengeDigest = sha256(creditChallenge(name));
  }

  /** What clients pin. */
  get published(): CreditIssuer {
    const keys = [...this.#keys.values()].map(({ year, spki }) => ({ year, key: spki.toString('base64url') }));
    return { issuer: this.name, keys };
  }

  /** Whether a key signs new credits: in its year, and a day before and after, because clients decide by their own clocks. */
  signs(keyId: string, now: number): boolean {
    const key = this.#keys.get(keyId);
    const years = [now - dayMs, now + dayMs].map((at) => new Date(at).getUTCFullYear());
    return key?.privateKey !== undefined && years.includes(key.year);
  }

  /** Whether a key here can sign these numbers: different ones, above 0 and below its modulus. */
  fits(keyId: string, blinded: readonly Buffer[]): boolean {
    const key = this.#keys.get(keyId);
    const modulus = key?.privateKey && Buffer.from(key.publicKey.export({ format: 'jwk' }).n ?? '', 'base64url');
    if (modulus === undefined || new Set(blinded.map((number) => number.toString('hex'))).size < blinded.length)
      return false;
    return blinded.every(
      (number) => number.length === rsaBytes && number.compare(modulus) < 0 && number.some((byte) => byte > 0),
    );
  }

  /**
   * Signs blinded numbers that fit, always alike. Undefined if the private key is not here any more. Each signature is checked, because
   * a faulty one would reveal the key.
   */
  async sign(keyId: string, blinded: readonly Buffer[]): Promise<Buffer[] | undefined> {
    const key = this.#keys.get(keyId);
    if (key?.privateKey === undefined) return undefined;
    const privateKey = { key: key.privateKey, padding: constants.RSA_NO_PADDING };
    const publicKey = { key: key.publicKey, padding: constants.RSA_NO_PADDING };
    const signatures: Buffer[] = [];
    for (const [at, number] of blinded.entries()) {
      // A signature takes a third of a millisecond. Other requests go on in between.
      if (at % 8 === 7) await setImmediate();
      const signature = privateDecrypt(privateKey, number);
      if (!publicEncrypt(publicKey, signature).equals(number)) throw new Error('a signature is wrong');
      signatures.push(signature);
    }
    return signatures;
  }

  /** Reads a credit and verifies its signature. Undefined if it is not one of this issuer. */
  read(token: Buffer): Credit | undefined {
    const input = token.subarray(0, tokenInputBytes);
    const nonce = input.subarray(2, 2 + nonceBytes);
    const keyId = input.subarray(-32);
    const key = this.#keys.get(keyId.toString('hex'));
    if (key === undefined || !input.equals(creditInput(nonce, this.#challengeDigest, keyId))) return undefined;
    const terms = { key: key.publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
    const isSigned = verify('sha384', input, terms, token.subarray(tokenInputBytes));
    return isSigned ? { keyId: key.keyId, nonce } : undefined;
  }
}

/** Reads the issuer's keys. On failure, returns one line that quotes nothing of the file. */
export async function readIssuer(file: string): Promise<Settings<Issuer>> {
  const refused = (message: string) => ({ ok: false, message: `CREDIT_KEYS_FILE: ${file}: ${message}` }) as const;
  const bytes = await readFileOrPart(file).catch(() => undefined);
  if (bytes === undefined) return refused('cannot be read');
  const read = readYamlAs(bytes.toString('utf8'), keysFileSchema);
  // Without the problem's words, which could quote a key.
  if (!read.ok)
    return refused(`line ${read.problems[0]?.line} is not as expected: an issuer, and keys with year and pem`);
  const { issuer, keys } = read.value.file;
  const found: IssuerKey[] = [];
  for (const { year, pem } of keys) {
    const key = readKey(year, pem);
    if (key === undefined) return refused(`the key of ${year} must be RSA with 2048 bits and exponent 65537, as PEM`);
    if (found.some((other) => other.year === year || other.keyId === key.keyId)) return refused(`${year} is repeated`);
    found.push(key);
  }
  return { ok: true, settings: new Issuer(issuer, found) };
}

function readKey(year: number, pem: string): IssuerKey | undefined {
  try {
    const privateKey = pem.includes('PRIVATE KEY') ? createPrivateKey(pem) : undefined;
    const publicKey = createPublicKey(pem);
    const { modulusLength, publicExponent } = publicKey.asymmetricKeyDetails ?? {};
    if (publicKey.asymmetricKeyType !== 'rsa' || modulusLength !== 2048 || publicExponent !== 65537n) return undefined;
    const spki = Buffer.from(creditSpki(publicKey.export({ format: 'der', type: 'pkcs1' })));
    return { keyId: sha256(spki).toString('hex'), year, spki, publicKey, privateKey };
  } catch {
    return undefined;
  }
}
