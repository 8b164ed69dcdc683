import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthMiddleware, isAPIError } from 'better-auth/api';
import { and, eq } from 'drizzle-orm';
import { type AuthDatabase, authAccount, authUser } from '../database/auth-schema.ts';
import { cookieValues } from './cookies.ts';
import { derivedKey, type SessionSecrets } from './session-secrets.ts';

/** Returns the id of the device in a `cookie` header, if that device has signed in to the account with this address. */
export type FindDevice = (cookieHeader: string | undefined, email: string) => Promise<string | undefined>;

export interface KnownDevicesOptions {
  readonly db: AuthDatabase;
  readonly secrets: SessionSecrets;
}

const cookieName = 'device';
const yearS = 365 * 24 * 60 * 60;
/** Several people may use one browser. The accounts that signed in longest ago are dropped first. */
const maxAccounts = 5;
const entryPattern = /^(?<device>[\w-]{22})\.(?<mac>[\w-]{43})$/;
/** An address that an account can have. Other values are not looked up. */
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
 * Remembers the devices that have signed in to an account, so that strangers who guess passwords do not lock out its
 * owner. Source: OWASP, "Slow Down Online Guessing Attacks with Device Cookies". The cookie does not sign in. It holds
 * an id for each account, with a MAC over the id, the account and the hash of its password. A new password therefore
 * voids every earlier cookie.
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
            // A change of password counts as a sign-in even without a new session: this browser has shown the old
            // password.
            const user = newSession?.user ?? (ctx.path === '/change-password' ? session?.user : undefined);
            const owner = user && (await ownerBy(authUser.id, user.id));
            if (owner === undefined) return;
            // Without `rememberMe` the session ends with the browser, as on a shared computer. Do not remember such a
            // device.
            const isForgotten = await ctx.getSignedCookie(authCookies.dontRememberToken.name, secret);
            if (ctx.body?.rememberMe === false || typeof isForgotten === 'string') return;
            const entries = entriesOf(ctx.headers?.get('cookie') ?? undefined);
            const device = entries.find((entry) => isOf(owner, entry))?.device ?? randomBytes(16).toString('base64url');
            const [mac] = macs(device, owner);
            const others = entries.filter((entry) => !isOf(owner, entry)).map(({ text }) => text);
            const value = [`${device}.${mac?.toString('base64url')}`, ...others].slice(0, maxAccounts).join('~');
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
  return texts.slice(0, maxAccounts).flatMap((text) => {
    const { device, mac } = entryPattern.exec(text)?.groups ?? {};
    return device === undefined || mac === undefined ? [] : [{ text, device, mac: Buffer.from(mac, 'base64url') }];
  });
}
