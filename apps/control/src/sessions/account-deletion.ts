import { deleteAccountSchema } from '@sotto/contract/control/user';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint, sensitiveSessionMiddleware } from 'better-auth/api';
import { deleteSessionCookie } from 'better-auth/cookies';
import type { OwnerMails } from './auth-mails.ts';
import { assertOwner } from './fresh-proof.ts';

export interface AccountDeletionOptions extends OwnerMails {
  /** Deletes the user with all that belongs to them. Returns why it cannot be done, or undefined. */
  readonly deleteAccount: (userId: string) => Promise<string | undefined>;
  readonly now: () => number;
}

/** `POST /delete-account`. better-auth's own `/delete-user` knows no keys and no money, so it is disabled. */
export const accountDeletion = ({ deleteAccount, mails, post, now }: AccountDeletionOptions) =>
  ({
    id: 'sotto-account-deletion',
    endpoints: {
      deleteAccount: createAuthEndpoint(
        '/delete-account',
        { method: 'POST', body: deleteAccountSchema, use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { user } = ctx.context.session;
          await assertOwner(ctx, ctx.body.password, now());
          if (ctx.body.email.toLowerCase() !== user.email)
            throw new APIError('BAD_REQUEST', { message: '`email` is not the address of this account' });
          const obstacle = await deleteAccount(user.id);
          if (obstacle !== undefined) throw new APIError('CONFLICT', { message: obstacle });
          deleteSessionCookie(ctx);
          post?.(mails.deleted(user.email));
          return ctx.json({ status: true });
        },
      ),
    },
  }) satisfies BetterAuthPlugin;
