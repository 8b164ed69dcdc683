import type { createAuthMiddleware } from 'better-auth/api';

type Ctx = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0];

/** Returns the id of the user whose second factor is asked for, by the cookie of a sign-in that has passed its first step. */
export async function challengedUser(ctx: Ctx): Promise<string | undefined> {
  const cookie = ctx.context.createAuthCookie('two_factor');
  const challenge = await ctx.getSignedCookie(cookie.name, ctx.context.secret);
  if (typeof challenge !== 'string') return undefined;
  return (await ctx.context.internalAdapter.findVerificationValue(challenge))?.value;
}
