import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint, sensitiveSessionMiddleware } from 'better-auth/api';
import { parseSessionOutput } from 'better-auth/db';
import { z } from 'zod';
import { hashSessionToken } from './hashed-token-adapter.ts';

const listedSessions = 1000;
const revokeSessionSchema = z.object({ token: z.string().max(256) });

/**
 * Replaces better-auth's `GET /list-sessions`, `POST /revoke-session` and `POST /revoke-other-sessions`. better-auth's
 * listing may refuse older sessions, depending on `freshAge`. Its revocations treat the tokens of a listing as the
 * tokens of cookies. With hashed tokens, the first would revoke nothing and answer 200. The other would end only the
 * caller's own session. These endpoints work by row id, on rows of the caller only.
 */
export const sessionRevocation = () =>
  ({
    id: 'sotto-session-revocation',
    endpoints: {
      listSessions: createAuthEndpoint(
        '/list-sessions',
        { method: 'GET', use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { internalAdapter, options, session } = ctx.context;
          const alive = await internalAdapter.listSessions(session.user.id, { onlyActiveSessions: true });
          return ctx.json(alive.map((each) => parseSessionOutput(options, each)));
        },
      ),
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
