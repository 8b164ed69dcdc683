import type { AuthMethods } from '@sotto/wire';
import type { BetterAuthPlugin } from 'better-auth';
import { createAuthEndpoint } from 'better-auth/api';

/** `GET /methods`: how people can sign in here, for pages to show what works. */
export const authMethods = (methods: AuthMethods) =>
  ({
    id: 'sotto-methods',
    endpoints: {
      methods: createAuthEndpoint('/methods', { method: 'GET' }, async (ctx) => ctx.json(methods)),
    },
  }) satisfies BetterAuthPlugin;
