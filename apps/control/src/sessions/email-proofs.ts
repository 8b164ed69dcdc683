import { hash, randomBytes, randomUUID } from 'node:crypto';
import { and, count, eq, gt, sql } from 'drizzle-orm';
import { type AuthDatabase, authVerification } from '../database/auth-schema.ts';

/** Proof, by a mailed link, that a person reads mail to this address. It is the user's address or is to become it. */
export interface EmailProof {
  readonly purpose: 'verify' | 'change';
  readonly userId: string;
  /** In lower case. */
  readonly email: string;
}

const lifeMs = 60 * 60 * 1000;
/**
 * Maximum number of valid links for one user, purpose and address, so that strangers cannot flood an address with mail.
 */
const maxAtOnce = 5;

const identifierOf = (token: string): string => `email-proof:${hash('sha256', token, 'base64url')}`;
const proofValue = ({ purpose, userId, email }: EmailProof): string => `${userId} ${purpose} ${email}`;

/** Creates a token for a link that works once, within an hour. Returns undefined if too many links are still valid. */
export async function makeEmailProof(db: AuthDatabase, proof: EmailProof, now: number): Promise<string | undefined> {
  const token = randomBytes(32).toString('base64url');
  const link = { identifier: identifierOf(token), value: proofValue(proof), most: maxAtOnce };
  return (await noteLink(db, link, now)) ? token : undefined;
}

/** Stores a link that is about to be mailed. Returns false, and stores nothing, if `most` links of this value are still valid. */
async function noteLink(
  db: AuthDatabase,
  { identifier, value, most }: { readonly identifier: string; readonly value: string; readonly most: number },
  now: number,
): Promise<boolean> {
  const [waiting] = await db
    .select({ links: count() })
    .from(authVerification)
    .where(and(eq(authVerification.value, value), gt(authVerification.expiresAt, new Date(now))));
  if ((waiting?.links ?? 0) >= most) return false;
  const id = randomBytes(16).toString('base64url');
  await db.insert(authVerification).values({ id, identifier, value, expiresAt: new Date(now + lifeMs) });
  return true;
}

/** Returns what a token proves, or undefined if it is unknown, used or expired. */
export async function findEmailProof(db: AuthDatabase, token: string, now: number): Promise<EmailProof | undefined> {
  const [row] = await db
    .select({ value: authVerification.value })
    .from(authVerification)
    .where(and(eq(authVerification.identifier, identifierOf(token)), gt(authVerification.expiresAt, new Date(now))));
  const [userId, purpose, email] = row?.value.split(' ') ?? [];
  if (userId === undefined || email === undefined || (purpose !== 'verify' && purpose !== 'change')) return undefined;
  return { userId, purpose, email };
}

/** Uses a token up. Of two simultaneous calls, only one returns true. */
export async function useEmailProof(db: AuthDatabase, token: string): Promise<boolean> {
  const used = await db
    .delete(authVerification)
    .where(eq(authVerification.identifier, identifierOf(token)))
    .returning({ id: authVerification.id });
  return used.length > 0;
}

/**
 * Deletes everything that a user has pending. That is links to verify or change an address or to reset a password,
 * confirmed passwords and half-finished sign-ins. Known devices that need no second factor go, too. Called when a
 * password or an address has changed.
 */
export async function voidProofs(db: AuthDatabase, userId: string): Promise<void> {
  await db.delete(authVerification).where(sql`split_part(${authVerification.value}, ' ', 1) = ${userId}`);
}

/**
 * Notes that a link to reset a password is about to be mailed. Returns false if too many are still valid. better-auth stores its own link
 * before it asks, also one that is then not mailed. Only mailed ones count, so that strangers who go on asking do not keep the mailbox
 * without a valid link. They can use up the links of an account, so a device that has signed in to it may have as many again.
 */
export const noteReset = (
  db: AuthDatabase,
  { userId, isKnown }: { readonly userId: string; readonly isKnown: boolean },
  now: number,
): Promise<boolean> =>
  noteLink(
    db,
    { identifier: `reset:${randomUUID()}`, value: `${userId} reset`, most: isKnown ? 2 * maxAtOnce : maxAtOnce },
    now,
  );
