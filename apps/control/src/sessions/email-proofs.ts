import { hash, randomBytes } from 'node:crypto';
import { and, count, eq, gt, sql } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { authVerification } from '../database/auth-schema.ts';

type Db = NodePgDatabase<Record<string, unknown>>;

/** What a link in a mail proves: that somebody reads what is sent to this address, which is or becomes the user's. */
export interface EmailProof {
  readonly purpose: 'verify' | 'change';
  readonly userId: string;
  /** In lower case. */
  readonly email: string;
}

const lifeMs = 60 * 60 * 1000;
/** Links to one address that are good at a time: nobody is flooded with mail on somebody else's behalf. */
const mostAtOnce = 5;
const challengeMs = 10 * 60 * 1000;

const identifierOf = (token: string): string => `email-proof:${hash('sha256', token, 'base64url')}`;
const proofValue = ({ purpose, userId, email }: EmailProof): string => `${userId} ${purpose} ${email}`;

/** Makes a token for a link that is good once, for an hour; undefined where enough of them are under way. */
export async function makeEmailProof(db: Db, proof: EmailProof, now: number): Promise<string | undefined> {
  const value = proofValue(proof);
  const [waiting] = await db
    .select({ links: count() })
    .from(authVerification)
    .where(and(eq(authVerification.value, value), gt(authVerification.expiresAt, new Date(now))));
  if ((waiting?.links ?? 0) >= mostAtOnce) return undefined;
  const token = randomBytes(32).toString('base64url');
  await db.insert(authVerification).values({
    id: randomBytes(16).toString('base64url'),
    identifier: identifierOf(token),
    value,
    expiresAt: new Date(now + lifeMs),
  });
  return token;
}

/** What a token proves; undefined for one that is unknown, used or expired. */
export async function findEmailProof(db: Db, token: string, now: number): Promise<EmailProof | undefined> {
  const [row] = await db
    .select({ value: authVerification.value })
    .from(authVerification)
    .where(and(eq(authVerification.identifier, identifierOf(token)), gt(authVerification.expiresAt, new Date(now))));
  const [userId, purpose, email] = row?.value.split(' ') ?? [];
  if (userId === undefined || email === undefined || (purpose !== 'verify' && purpose !== 'change')) return undefined;
  return { userId, purpose, email };
}

/** Uses a token up. Of two at once, one is told true. */
export async function useEmailProof(db: Db, token: string): Promise<boolean> {
  const used = await db
    .delete(authVerification)
    .where(eq(authVerification.identifier, identifierOf(token)))
    .returning({ id: authVerification.id });
  return used.length > 0;
}

/**
 * Voids everything of a user that is under way: links of verification, change and reset, half sign-ins, devices that
 * need no second factor. For when a password or an address has changed hands.
 */
export async function voidProofs(db: Db, userId: string): Promise<void> {
  await db.delete(authVerification).where(sql`split_part(${authVerification.value}, ' ', 1) = ${userId}`);
}

/**
 * Whether another link to reset a password may be mailed. better-auth keeps them with the user's id as their value, as it
 * does the challenges of second factors, which live for ten minutes. Strangers can use up the links of an account, so a
 * device that has signed in to it has as many again.
 */
export async function mayMailReset(
  db: Db,
  { userId, isKnown }: { readonly userId: string; readonly isKnown: boolean },
  now: number,
): Promise<boolean> {
  const [waiting] = await db
    .select({ links: count() })
    .from(authVerification)
    .where(and(eq(authVerification.value, userId), gt(authVerification.expiresAt, new Date(now + challengeMs))));
  // The one in question is there already.
  return (waiting?.links ?? 0) <= (isKnown ? 2 * mostAtOnce : mostAtOnce);
}
