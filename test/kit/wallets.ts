import { constants, createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { creditCodeSchema } from '@sotto/contract/control/wallets';
import { expect } from 'vitest';
import { type Person, peopleOf } from './people.ts';
import { type HeaderMap, post } from './send.ts';
import { type Service, until } from './service.ts';

/** DER before an RSA key: RSASSA-PSS with SHA-384, MGF1 with SHA-384 and 48 bytes of salt (RFC 9578, section 8.2.2). */
const pssHead = Buffer.from(
  '30820152303d06092a864886f70d01010a3030a00d300b0609608648016503040202a11a301806092a864886f70d010108300b0609608648016503040202a2030201300382010f00',
  'hex',
);
export const issuerName = 'issuer.example';

/** An issuer key with everything that a service and its clients need of it. */
export interface TestIssuer {
  readonly folder: string;
  readonly privateKey: KeyObject;
  readonly spki: Buffer;
  readonly keyId: string;
  /** Variables that switch anonymous wallets on. */
  readonly environment: Readonly<Record<string, string>>;
  /** A file of pins with this key, and one with another key. */
  readonly pins: string;
  readonly otherPins: string;
  stop(): Promise<void>;
}

export async function makeIssuer(): Promise<TestIssuer> {
  const folder = await mkdtemp(join(tmpdir(), 'sotto-test-issuer-'));
  const year = new Date().getUTCFullYear();
  const make = () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    return { privateKey, spki: Buffer.concat([pssHead, publicKey.export({ format: 'der', type: 'pkcs1' })]) };
  };
  const [own, other] = [make(), make()];
  const pem = own.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString().trim().replaceAll('\n', '\n      ');
  const keys = join(folder, 'keys.yaml');
  await writeFile(keys, `issuer: ${issuerName}\nkeys:\n  - year: ${year}\n    pem: |\n      ${pem}\n`);
  const pinsOf = async (name: string, { spki }: { readonly spki: Buffer }): Promise<string> => {
    const file = join(folder, name);
    const credits = { issuer: issuerName, keys: [{ year, key: spki.toString('base64url') }] };
    await writeFile(file, JSON.stringify({ gateway: {}, credits }));
    return file;
  };
  return {
    ...{ folder, ...own, keyId: createHash('sha256').update(own.spki).digest('hex') },
    environment: { ANONYMOUS_WALLETS: 'on', CREDIT_KEYS_FILE: keys },
    pins: await pinsOf('pins.json', own),
    otherPins: await pinsOf('other-pins.json', other),
    stop: () => rm(folder, { recursive: true, force: true }),
  };
}

/** Signs somebody up, who then pays 10 USD without money, which counts like crypto. */
export async function payingPerson(service: Service): Promise<Person> {
  const person = await peopleOf({ service }).signUp();
  const order = await post(
    `${service.controlUrl}/billing/orders`,
    { package_id: 'usd-10', rail: 'test' },
    person.session,
  );
  expect(order.status, order.text).toBe(201);
  return person;
}

/** Makes a code that permits so many lots. */
export async function makeCode(service: Service, session: HeaderMap, lots = 1): Promise<string> {
  const answer = await post(`${service.controlUrl}/credits/codes`, { lots }, session);
  expect(answer.status, answer.text).toBe(201);
  return creditCodeSchema.parse(answer.json).code;
}

const rsaBytes = 256;

/** Numbers that an issuer signs blindly. What is behind them does not matter to it. */
export const blindedNumbers = (): string[] =>
  Array.from({ length: 50 }, () => Buffer.from([0, ...randomBytes(rsaBytes - 1)]).toString('base64url'));

/** Credits that the issuer's key signs directly, as somebody who had it could. */
export const signedCredits = ({ privateKey, keyId }: TestIssuer, count = 50): string[] =>
  Array.from({ length: count }, () => {
    const name = [0, issuerName.length, ...Buffer.from(issuerName)];
    const challenge = createHash('sha256')
      .update(Buffer.from([0, 2, ...name, 0, ...name]))
      .digest();
    const input = Buffer.concat([Buffer.from([0, 2]), randomBytes(32), challenge, Buffer.from(keyId, 'hex')]);
    const terms = { key: privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 48 };
    return Buffer.concat([input, sign('sha384', input, terms)]).toString('base64url');
  });

/** Lets all credits of a purse have rested. */
export function letRest(purse: string): void {
  const database = new DatabaseSync(purse);
  database.exec('update credits set ready_at = 0');
  database.close();
}

/** Ends the leases of killed commands, as a minute does. */
export function endLeases(purse: string): void {
  const database = new DatabaseSync(purse, { timeout: 10_000 });
  database.exec('update wallets set holder = null');
  database.close();
}

/** A home folder with a purse in it. */
export async function makeHome(
  issuer: TestIssuer,
  name: string,
): Promise<{ readonly home: string; readonly purse: string }> {
  const home = join(issuer.folder, name);
  await mkdir(home);
  await chmod(home, 0o700);
  return { home, purse: join(home, '.sotto', 'purse') };
}

/** Audits ledger and state. */
export async function expectSound(service: Service): Promise<void> {
  await until(async () => (await service.runControl(['audit'])).code === 0, 'the audit finds nothing');
}
