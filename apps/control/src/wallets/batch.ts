import { createHash } from 'node:crypto';
import { hashSecret, type ProjectionPort } from '@sotto/state';
import { creditNusd, creditsPerBatch } from '@sotto/wire';
import type pg from 'pg';
import { type Refusal, type Refused, refused } from '../database/refused.ts';
import type { Projector } from '../projection/projector.ts';
import type { Issuer } from './issuer.ts';

export interface CreditsDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'reserve' | 'book' | 'readNotes' | 'forget'>;
  readonly projector: Pick<Projector, 'key' | 'account'>;
  readonly issuer: Issuer;
  readonly now: () => number;
  /** Returns a whole number from 0 to below its argument, each with the same probability. */
  readonly random?: ((below: number) => number) | undefined;
}

/** 50 blinded numbers, and the secret that pays for them: a code of the dashboard, or the secret that closes a wallet. */
export interface Batch {
  readonly keyId: string;
  readonly blinded: readonly Buffer[];
  readonly paidBy: { readonly kind: 'code' | 'close'; readonly secret: string };
}

/** What a whole batch is worth. */
export const batchNusd = creditNusd * BigInt(creditsPerBatch);

/**
 * Names a batch. Only who blinded its numbers can use the signatures, so a repeated request needs no other credential. A code is not in the
 * name: whoever replaced it still gets what it has paid for.
 */
export function batchId({ keyId, blinded, paidBy: { kind, secret } }: Batch): string {
  const payer = kind === 'code' ? '' : hashSecret(secret);
  const hash = createHash('sha256').update(`sotto batch v1 ${kind} ${payer} ${keyId} `);
  for (const number of blinded) hash.update(number);
  return hash.digest('base64url');
}

/** Something that a batch needs is not there now. The client keeps the batch and sends it again. */
export interface Unavailable {
  readonly why: 'unavailable';
}

/** Signs what was signed of a batch before. Undefined if it was never signed. */
export async function signAgain(
  { pool, issuer }: CreditsDependencies,
  batch: Batch,
): Promise<Buffer[] | Refused<Unavailable> | undefined> {
  const { rows } = await pool.query<{ count: number }>('select count from credit_issuances where id = $1', [
    batchId(batch),
  ]);
  const [issuance] = rows;
  if (issuance === undefined) return undefined;
  // Without signatures, its private key was removed from the file.
  return (await issuer.sign(batch.keyId, batch.blinded.slice(0, issuance.count))) ?? refused('unavailable');
}

/** Signs a batch that this request or one for the same batch has paid for. Returns the refusal if there was none. */
export const signPaid = async <R extends Refusal>(
  deps: CreditsDependencies,
  batch: Batch,
  refusal: Refused<R>,
): Promise<Buffer[] | Refused<R | Unavailable>> => (await signAgain(deps, batch)) ?? refusal;

/** Why a batch cannot be signed: not with the key of this year, or its numbers are not below the modulus. */
export type Unsignable = { readonly why: 'wrong_key' } | { readonly why: 'unfit' };

/** Refuses a new batch that could not be signed, before it changes anything. */
export function unsignable(
  { issuer, now }: CreditsDependencies,
  { keyId, blinded }: Batch,
): Refused<Unsignable> | undefined {
  if (!issuer.signs(keyId, now())) return refused('wrong_key');
  return issuer.fits(keyId, blinded) ? undefined : refused('unfit');
}
