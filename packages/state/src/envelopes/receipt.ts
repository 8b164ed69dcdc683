import { hash, hkdfSync } from 'node:crypto';
import { seal, unseal } from './sealed.ts';

const purpose = 'sotto receipt v1';

/** What a receipt is kept under: whoever reads the state does not learn its secret. */
export const receiptIdOf = (secret: string): string => hash('sha256', `${purpose} ${secret}`);

/**
 * A receipt for the shared state, readable by its secret alone (128 random bits or more). It holds hashes of bodies, and the
 * hash of a short question tells it to whoever guesses: in the state, beside wallets and times, nobody may try.
 */
export const sealReceipt = (secret: string, document: string): string =>
  seal(keyOf(secret), Buffer.from(document), purpose).toString('base64');

/** The document; undefined where it was not sealed by this secret. */
export const openReceipt = (secret: string, sealed: string): string | undefined =>
  unseal(keyOf(secret), Buffer.from(sealed, 'base64'), purpose)?.toString('utf8');

const keyOf = (secret: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
