import { randomBytes } from 'node:crypto';
import { type CreditIssuer, creditChallenge, creditsPerBatch } from '@sotto/wire';
import type { ControlPath } from '../service-paths.ts';
import { batchBytes, blindBatch, readSigningKey, unblind } from './blind-rsa.ts';
import { type CreditService, PurseError } from './credit-service.ts';
import type { PurseFile } from './purse-file.ts';

const hourMs = 3_600_000;
/** New credits rest for a random time between these, so that the time of a deposit does not say when they were signed. */
const restMs = { least: hourMs, most: 24 * hourMs };
/**
 * Credits of a new year's key rest until the second week of its year. Few people have some before: each schedule has bought a lot of it then.
 */
const restEnds = (year: number): number => Date.UTC(year, 0, 8);

/** The clock and the randomness of a purse. */
export interface Timing {
  readonly now: () => number;
  /** Returns a whole number from `least` to below `below`. */
  readonly random: (least: number, below: number) => number;
}

/** What the numbers of a batch are blinded with, and the key that is to sign them. Stored before the batch is asked for. */
export interface BatchSecrets {
  readonly secrets: Uint8Array;
  readonly spki: string;
}

export function newBatch(issuer: CreditIssuer, now: number): BatchSecrets {
  const year = new Date(now).getUTCFullYear();
  const spki = issuer.keys.find((key) => key.year === year)?.key;
  if (spki === undefined || readSigningKey(Buffer.from(spki, 'base64url')) === undefined)
    throw new PurseError(`The pins have no usable issuer key of ${year}.`);
  return { secrets: randomBytes(batchBytes), spki };
}

interface Credit {
  readonly nonce: Uint8Array;
  readonly token: Uint8Array;
  readonly keyId: string;
  /** The year of the key. 0: it is pinned no more. */
  readonly year: number;
}

/** How a batch is paid for: the route, the secret for it, and the fewest signatures that it must bring. */
interface Payment {
  readonly path: ControlPath<'POST'>;
  readonly proof: Readonly<Record<string, string>>;
  readonly atLeast: number;
}

/** Asks for the signatures of a stored batch, each time in the same words. Throws unless they are right. */
export async function signBatch(
  service: CreditService,
  { issuer, keys }: CreditIssuer,
  { secrets, spki, path, proof, atLeast }: BatchSecrets & Payment,
): Promise<{ readonly credits: readonly Credit[]; readonly more: boolean; readonly lots: number | undefined }> {
  const key = readSigningKey(Buffer.from(spki, 'base64url'));
  if (key === undefined) throw new PurseError('The key of a stored batch cannot be read.');
  const year = keys.find((each) => each.key === spki)?.year ?? 0;
  const numbers = blindBatch(key, creditChallenge(issuer), secrets);
  const blinded = numbers.map((number) => number.blinded.toString('base64url'));
  const { signatures, more, lots } = await service.sign(path, { ...proof, key_id: key.keyId, blinded });
  const credits = signatures.flatMap((signature, at) => {
    const number = numbers[at];
    const signed = number && unblind(key, number.message, { inverse: number.inverse, signature });
    if (!signed) return [];
    return [{ nonce: number.nonce, token: Buffer.concat([number.message, signed]), keyId: key.keyId, year }];
  });
  if (credits.length < Math.max(atLeast, signatures.length))
    throw new PurseError('The issuer did not sign what it was asked to. The batch is kept, and asked for again later.');
  return { credits, more: more && credits.length === creditsPerBatch, lots };
}

/** Stores credits, which rest. Call it in the transaction that forgets their batch. */
export function addCredits(file: PurseFile, credits: readonly Credit[], { now, random }: Timing, firstUseAt = 0): void {
  const restedMs = random(restMs.least, restMs.most);
  for (const { nonce, token, keyId, year } of credits)
    file.run(
      'insert into credits (nonce, token, key_id, year, ready_at) values (?, ?, ?, ?, ?) on conflict do nothing',
      ...[nonce, token, keyId, year, Math.max(firstUseAt, Math.max(now(), restEnds(year)) + restedMs)],
    );
}
