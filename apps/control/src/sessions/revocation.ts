import { revokeSessionSchema } from '@sotto/contract/control/sessions';
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint, sensitiveSessionMiddleware } from 'better-auth/api';
import { hashSessionToken } from './hashed-token-adapter.ts';

const listedSessions = 1000;

/**
 * Replaces better-auth's `POST /revoke-session` and `POST /revoke-other-sessions`. They treat the tokens of a listing as
 * the tokens of cookies. With hashed tokens, the first would revoke nothing and answer 200. The other would end only the
 * caller's own session. These endpoints work by row id, on rows of the caller only.
 */
export const sessionRevocation = () =>
  ({
    id: 'sotto-session-revocation',
    endpoints: {
      revokeSession: createAuthEndpoint(
        '/revoke-session',
        { method: 'POST', body: revokeSessionSchema, use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const userId = ctx.context.session.user.id;
          const own = await ctx.context.adapter.findMany<{ id: string; token: string }>({
            model: 'session',
            where: [{ field: 'userId', value: userId }],
            limit: listedSessions,
            sortBy: { field: 'createdAt', direction: 'desc' },
          });
          const { token } = ctx.body;
          const named = own.find((session) => session.token === token || session.token === hashSessionToken(token));
          if (named) {
            await ctx.context.adapter.deleteMany({ model: 'session', where: [{ field: 'id', value: named.id }] });
          }
          return ctx.json({ status: true });
        },
      ),
      revokeOtherSessions: createAuthEndpoint(
        '/revoke-other-sessions',
        { method: 'POST', use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { session, user } = ctx.context.session;
          await ctx.context.adapter.deleteMany({
            model: 'session',
            where: [
              { field: 'userId', value: user.id },
              { field: 'id', operator: 'ne', value: session.id },
            ],
          });
          return ctx.json({ status: true });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
