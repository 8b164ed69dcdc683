import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthMiddleware, isAPIError } from 'better-auth/api';
import { and, eq } from 'drizzle-orm';
import type { NodePgDatabase } from 'drizzle-orm/node-postgres';
import { authAccount, authUser } from '../database/auth-schema.ts';
import { cookieValues } from './cookies.ts';
import { derivedKey } from './derived-key.ts';
import type { SessionSecrets } from './session-secrets.ts';

/** Returns the id of the device that a `cookie` header names, where it has signed in to the account of an address. */
export type FindDevice = (cookieHeader: string | undefined, email: string) => Promise<string | undefined>;

export interface KnownDevicesOptions {
  readonly db: NodePgDatabase<Record<string, unknown>>;
  readonly secrets: SessionSecrets;
}

const cookieName = 'device';
const yearS = 365 * 24 * 60 * 60;
/** Several people may use one browser. The accounts that signed in longest ago go first. */
const mostAccounts = 5;
const entryPattern = /^(?<device>[\w-]{22})\.(?<mac>[\w-]{43})$/;
/** An address that an account may have; anything else is not looked for. */
const emailPattern = /^[^\s@\p{Cc}]{1,255}@[^\s@\p{Cc}]{1,255}$/u;

/** One account in the cookie of a device. */
interface Entry {
  readonly text: string;
  readonly device: string;
  readonly mac: Buffer;
}

interface Owner {
  readonly id: string;
  readonly password: string | null;
}

/**
 * Remembers the devices that have signed in to an account, so that guesses of strangers do not lock its owner out (OWASP,
 * "Slow Down Online Guessing Attacks with Device Cookies"). The cookie does not sign in. It holds an id for each account,
 * with a MAC over the id, the account and its password's hash: a new password makes every cookie of before void.
 */
export function knownDevices({ db, secrets }: KnownDevicesOptions) {
  const keys = secrets.map((secret) => derivedKey(secret, 'sotto control: known devices'));
  const macs = (device: string, { id, password }: Owner): Buffer[] =>
    keys.map((key) => createHmac('sha256', key).update(`${device} ${id} ${password}`).digest());
  const isOf = (owner: Owner, { device, mac }: Entry): boolean =>
    macs(device, owner).some((right) => timingSafeEqual(right, mac));

  const ownerBy = async (
    column: typeof authUser.id | typeof authUser.email,
    value: string,
  ): Promise<Owner | undefined> => {
    const [owner] = await db
      .select({ id: authUser.id, password: authAccount.password })
      .from(authUser)
      .innerJoin(authAccount, and(eq(authAccount.userId, authUser.id), eq(authAccount.providerId, 'credential')))
      .where(eq(column, value));
    return owner;
  };

  const find: FindDevice = async (header, email) => {
    const entries = entriesOf(header);
    if (entries.length === 0 || !emailPattern.test(email)) return undefined;
    const owner = await ownerBy(authUser.email, email);
    return owner && entries.find((entry) => isOf(owner, entry))?.device;
  };

  const plugin = {
    id: 'sotto-known-devices',
    hooks: {
      after: [
        {
          matcher: () => true,
          handler: createAuthMiddleware(async (ctx) => {
            const { returned, newSession, session, authCookies, secret } = ctx.context;
            if (isAPIError(returned)) return;
            // A new password without a new session is a sign-in all the same: this browser has shown the old one.
            const user = newSession?.user ?? (ctx.path === '/change-password' ? session?.user : undefined);
            const owner = user && (await ownerBy(authUser.id, user.id));
            if (owner === undefined) return;
            // Signed in on a computer of others, where the session ends with the browser.
            const isForgotten = await ctx.getSignedCookie(authCookies.dontRememberToken.name, secret);
            if (ctx.body?.rememberMe === false || typeof isForgotten === 'string') return;
            const entries = entriesOf(ctx.headers?.get('cookie') ?? undefined);
            const device = entries.find((entry) => isOf(owner, entry))?.device ?? randomBytes(16).toString('base64url');
            const [mac] = macs(device, owner);
            const others = entries.filter((entry) => !isOf(owner, entry)).map(({ text }) => text);
            const value = [`${device}.${mac?.toString('base64url')}`, ...others].slice(0, mostAccounts).join('~');
            const cookie = ctx.context.createAuthCookie(cookieName, { maxAge: yearS });
            ctx.setCookie(cookie.name, value, cookie.attributes);
          }),
        },
      ],
    },
  } satisfies BetterAuthPlugin;
  return { find, plugin };
}

function entriesOf(header: string | undefined): Entry[] {
  const texts = cookieValues(header, cookieName).flatMap((value) => value.split('~'));
  return texts.slice(0, mostAccounts).flatMap((text) => {
    const { device, mac } = entryPattern.exec(text)?.groups ?? {};
    return device === undefined || mac === undefined ? [] : [{ text, device, mac: Buffer.from(mac, 'base64url') }];
  });
}
