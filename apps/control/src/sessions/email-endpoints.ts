import { changeEmailSchema, verifyEmailSchema } from '@sotto/contract/control/email';
import type { BetterAuthPlugin } from 'better-auth';
import { APIError, createAuthEndpoint, getSessionFromCtx, sensitiveSessionMiddleware } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { parseUserOutput } from 'better-auth/db';
import type { AuthDatabase } from '../database/auth-schema.ts';
import type { OwnerMails } from './auth-mails.ts';
import { type EmailProof, findEmailProof, makeEmailProof, useEmailProof, voidProofs } from './email-proofs.ts';
import { assertOwner } from './fresh-proof.ts';
import type { SignUpPolicy } from './sign-up-policy.ts';

export interface EmailEndpointsOptions extends OwnerMails {
  readonly db: AuthDatabase;
  readonly signUp: Pick<SignUpPolicy, 'allowsAddress'>;
  /** Changes the address of a user. Resolves to false if another user has it. */
  readonly changeAddress: (userId: string, email: string) => Promise<boolean>;
  readonly now: () => number;
}

/**
 * Replaces better-auth's `verify-email` and `change-email`. better-auth's endpoints read a signed token from the URL,
 * which servers log. They accept it any number of times and sign in anyone who has it. These endpoints read the token
 * from the body and accept it once. They also require the account's password or one of its sessions. Otherwise a
 * stranger could sign up with another person's address. By following a link that they did not ask for, the owner of the
 * address would verify an account whose password the stranger knows.
 */
export const emailEndpoints = ({ db, signUp, changeAddress, mails, post, now }: EmailEndpointsOptions) => {
  const invalid = () =>
    new APIError('BAD_REQUEST', {
      code: 'INVALID_TOKEN',
      message: 'This link was used, has expired or is incomplete. Ask for a new one',
    });
  return {
    id: 'sotto-email',
    endpoints: {
      verifyEmail: createAuthEndpoint('/verify-email', { method: 'POST', body: verifyEmailSchema }, async (ctx) => {
        const { token, password } = ctx.body;
        const { internalAdapter } = ctx.context;
        const proof = await findEmailProof(db, token, now());
        const user = proof && (await internalAdapter.findUserById(proof.userId));
        if (proof === undefined || !user || (proof.purpose === 'verify' && user.email !== proof.email)) throw invalid();

        const session = await getSessionFromCtx(ctx);
        const isSignedIn = session?.user.id === user.id;
        if (!isSignedIn) {
          const credential = await internalAdapter.findCredentialAccount(user.id);
          const isRight =
            password !== undefined &&
            typeof credential?.password === 'string' &&
            (await ctx.context.password.verify({ hash: credential.password, password }));
          if (!isRight) {
            throw new APIError('UNAUTHORIZED', {
              code: 'INVALID_PASSWORD',
              message:
                'The link is good, the password is not. If somebody else chose it, set a new one by `/v1/auth/request-password-reset`',
            });
          }
        }
        if (!(await useEmailProof(db, token))) throw invalid();
        const verified = { email: proof.email, emailVerified: true };
        const isDone =
          proof.purpose === 'change'
            ? await changeAddress(user.id, proof.email)
            : (await internalAdapter.updateUser(user.id, verified).catch(() => undefined)) != null;
        // Another account has taken the address meanwhile.
        if (!isDone) throw invalid();
        if (proof.purpose === 'change') {
          // Links mailed to the old address must not work any more.
          await voidProofs(db, user.id);
          post?.(mails.notice(user.email, `Your account has another address now, and not ${user.email}`));
        }
        // A user with a second factor has to sign in and show it.
        const signsIn = !isSignedIn && !('twoFactorEnabled' in user && user.twoFactorEnabled === true);
        if (signsIn) {
          const fresh = await internalAdapter.createSession(user.id);
          await setSessionCookie(ctx, { session: fresh, user: { ...user, ...verified } });
        }
        return ctx.json({
          status: true,
          signedIn: isSignedIn || signsIn,
          user: parseUserOutput(ctx.context.options, { ...user, ...verified }),
        });
      }),
      changeEmail: createAuthEndpoint(
        '/change-email',
        { method: 'POST', body: changeEmailSchema, use: [sensitiveSessionMiddleware], requireHeaders: true },
        async (ctx) => {
          const { user } = ctx.context.session;
          const { internalAdapter } = ctx.context;
          await assertOwner(ctx, ctx.body.password, now());
          const email = ctx.body.newEmail.toLowerCase();
          if (email === user.email)
            throw new APIError('BAD_REQUEST', { message: 'This is the address of the account already' });
          if (!(await signUp.allowsAddress(email))) {
            throw new APIError('FORBIDDEN', {
              message: `This deployment does not admit the domain of ${email}. Ask its operator to invite the address first`,
            });
          }
          const proof: EmailProof = { purpose: 'change', userId: user.id, email };
          // Answer the same way if the address has an account, so that the caller cannot find out.
          const isTaken = (await internalAdapter.findUserByEmail(email)) !== null;
          const token = await makeEmailProof(db, proof, now());
          if (token !== undefined && !isTaken) post?.(mails.change(email, token));
          return ctx.json({ status: true });
        },
      ),
    },
  } satisfies BetterAuthPlugin;
};
