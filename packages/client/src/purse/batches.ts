import { randomBytes } from 'node:crypto';
import { type CreditIssuer, creditChallenge, creditsPerBatch } from '@sotto/wire';
import { batchBytes, blindBatch, readSigningKey, unblind } from './blind-rsa.ts';
import { CreditRefusal, type CreditService, PurseError, type SignedBatch } from './credit-service.ts';
import type { PurseFile, StoredBatch } from './purse-file.ts';

const hourMs = 3_600_000;
/** New credits rest for a random time between these, so that the time of a deposit does not say when they were signed. */
const restMs = { least: hourMs, most: 24 * hourMs };

/** Where a purse's batches get the time, and how long their credits rest. */
export interface BatchTiming {
  readonly now: () => number;
  readonly random: (least: number, below: number) => number;
}

/** The batches of a purse: credits that are blinded and stored, until the issuer has signed them. */
export class Batches {
  readonly #file: PurseFile;
  readonly #now: BatchTiming['now'];
  readonly #random: BatchTiming['random'];

  constructor(file: PurseFile, { now, random }: BatchTiming) {
    this.#file = file;
    this.#now = now;
    this.#random = random;
  }

  /** Stores a batch, before it is asked for. */
  add(issuer: CreditIssuer, paidBy: StoredBatch['paid_by'], secret: string, wallet: number | null): StoredBatch {
    const year = new Date(this.#now()).getUTCFullYear();
    const spki = issuer.keys.find((key) => key.year === year)?.key;
    if (spki === undefined || readSigningKey(Buffer.from(spki, 'base64url')) === undefined)
      throw new PurseError(`The pins have no usable issuer key of ${year}.`);
    const secrets = randomBytes(batchBytes);
    const [added] = this.#file.read<StoredBatch>(
      'insert into batches (secrets, spki, paid_by, secret, wallet) values (?, ?, ?, ?, ?) returning *',
      ...[secrets, spki, paidBy, secret, wallet],
    );
    if (added === undefined) throw new Error('the batch was not stored');
    return added;
  }

  /** Asks for the signatures of a stored batch, and keeps it until they are right. */
  async ask(
    service: CreditService,
    issuer: CreditIssuer,
    batch: StoredBatch,
  ): Promise<{ count: number; more: boolean }> {
    const key = readSigningKey(Buffer.from(batch.spki, 'base64url'));
    if (key === undefined) throw new PurseError('The key of a stored batch cannot be read.');
    const numbers = blindBatch(key, creditChallenge(issuer.issuer), batch.secrets);
    const path = batch.paid_by === 'code' ? '/v1/credits' : '/v1/wallets/close';
    const proof = batch.paid_by === 'code' ? { code: batch.secret } : { close_secret: batch.secret };
    const blinded = numbers.map((number) => number.blinded.toString('base64url'));
    let signed: SignedBatch;
    try {
      signed = await service.sign(path, { ...proof, key_id: key.keyId, blinded });
    } catch (error) {
      // A refused code paid for nothing. A batch of a closed wallet is kept, unless its key is out of date.
      if (!(error instanceof CreditRefusal) || error.isPassing) throw error;
      if (batch.paid_by === 'code' || error.type === 'invalid_request')
        this.#file.run('delete from batches where id = ?', batch.id);
      // A copy of this purse has closed the wallet. It has the batch whose signatures are worth the balance.
      if (batch.paid_by === 'close' && error.type === 'conflict') this.#forget(batch);
      throw error;
    }
    const tokens = signed.signatures.map((signature, at) => {
      const number = numbers[at];
      const signed = number && unblind(key, number.message, { inverse: number.inverse, signature });
      return number && signed && { nonce: number.nonce, token: Buffer.concat([number.message, signed]) };
    });
    if (tokens.includes(undefined) || (batch.paid_by === 'code' && tokens.length < creditsPerBatch))
      throw new PurseError(
        'The issuer did not sign what it was asked to. The batch is kept: run `sotto purse settle` later.',
      );
    const more = signed.more && tokens.length === creditsPerBatch;
    const readyAt = this.#now() + this.#random(restMs.least, restMs.most);
    this.#file.change(() => {
      for (const token of tokens) {
        if (token === undefined) continue;
        const values = [token.nonce, token.token, key.keyId, readyAt];
        this.#file.run(
          'insert into credits (nonce, token, key_id, ready_at) values (?, ?, ?, ?) on conflict do nothing',
          ...values,
        );
      }
      if (more) this.#file.run('delete from batches where id = ?', batch.id);
      else this.#forget(batch);
    });
    return { count: tokens.length, more };
  }

  #forget({ id, wallet }: StoredBatch): void {
    this.#file.run('delete from batches where id = ?', id);
    this.#file.run('delete from wallets where id = ?', wallet ?? 0);
  }
}
