import { hash, hkdfSync } from 'node:crypto';
import { seal, unseal } from './sealing.ts';

const purpose = 'sotto receipt v1';

/** Id of a receipt: a hash, so that readers of the state do not learn the secret. */
export const receiptIdOf = (secret: string): string => hash('sha256', `${purpose} ${secret}`);

/**
 * Encrypts a receipt for the shared state with its secret (128 random bits or more). A receipt has hashes of bodies, and the hash
 * of a short question can be guessed. In the state, guesses could be linked to wallets and times.
 */
export const sealReceipt = (secret: string, document: string): string =>
  seal(keyOf(secret), Buffer.from(document), purpose).toString('base64');

/** Returns the document. Undefined if another secret encrypted it. */
export const openReceipt = (secret: string, sealed: string): string | undefined =>
  unseal(keyOf(secret), Buffer.from(sealed, 'base64'), purpose)?.toString('utf8');

const keyOf = (secret: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32));
