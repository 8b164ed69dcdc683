import { createHash } from 'node:crypto';
import { hashSecret, type ProjectionPort } from '@sotto/state';
import { creditNusd, creditsPerBatch, ServiceError } from '@sotto/wire';
import type pg from 'pg';
import type { Projector } from '../projection/projector.ts';
import type { Issuer } from './issuer.ts';

export interface CreditsDependencies {
  readonly pool: pg.Pool;
  readonly state: Pick<ProjectionPort, 'reserve' | 'book' | 'readNotes'>;
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

/** Names a batch. Only who has its secret can name it, so a repeated request needs no other credential. */
export function batchId({ keyId, blinded, paidBy: { kind, secret } }: Batch): string {
  const hash = createHash('sha256').update(`sotto batch v1 ${kind} ${hashSecret(secret)} ${keyId} `);
  for (const number of blinded) hash.update(number);
  return hash.digest('base64url');
}

/** Signs what was signed of a batch before. Undefined if it was never signed. */
export async function signAgain({ pool, issuer }: CreditsDependencies, batch: Batch): Promise<Buffer[] | undefined> {
  const { rows } = await pool.query<{ count: number }>('select count from credit_issuances where id = $1', [
    batchId(batch),
  ]);
  const [issuance] = rows;
  if (issuance === undefined) return undefined;
  const signatures = await issuer.sign(batch.keyId, batch.blinded.slice(0, issuance.count));
  // Its private key was removed from the file. The client keeps the batch.
  if (signatures === undefined) throw new ServiceError('service_unavailable');
  return signatures;
}

/** Signs a batch that this request or one for the same batch has paid for. Throws the refusal if there was none. */
export async function signPaid(deps: CreditsDependencies, batch: Batch, refusal: ServiceError): Promise<Buffer[]> {
  const signatures = await signAgain(deps, batch);
  if (signatures === undefined) throw refusal;
  return signatures;
}

/** Refuses a new batch that could not be signed, before it changes anything. */
export function assertSignable({ issuer, now }: CreditsDependencies, { keyId, blinded }: Batch): void {
  const refuse = (param: string, message: string): never => {
    throw new ServiceError('invalid_request', { message: `\`${param}\` ${message}`, param });
  };
  if (!issuer.signs(keyId, now())) refuse('key_id', 'is not the issuer key of this year.');
  if (!issuer.fits(keyId, blinded))
    refuse('blinded', 'must be different numbers, above 0 and below the modulus of the key.');
}
