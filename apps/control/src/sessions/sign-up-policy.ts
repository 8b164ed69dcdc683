import type { BetterAuthPlugin } from 'better-auth';
import { APIError } from 'better-auth/api';
import type pg from 'pg';
import { onPaths } from './on-paths.ts';

/** How a person signs up: the provider has verified the address, or the person chose it together with a password. */
type SignUpWay = 'openid' | 'password';

/** Who may create an account: everyone, invited addresses, or no one. */
export type SignUpMode = 'open' | 'invited' | 'closed';

export interface SignUpSettings {
  readonly mode: SignUpMode;
  /** In lower case. Empty: all domains. */
  readonly domains: readonly string[];
}

export interface SignUpPolicy extends SignUpSettings {
  /**
   * Whether an address may create an account. The answer does not depend on the accounts that exist. People of SCIM are admitted only
   * if the OpenID provider signs them in, because leaving would not end an account that a password opens.
   */
  admits(email: string, by: SignUpWay): Promise<boolean>;
  /** Whether a person with an account may change to an address: one of the domains, or one that the operator chose. */
  allowsAddress(email: string): Promise<boolean>;
}

/** The one place that decides who may sign up. */
export function signUpPolicy(pool: pg.Pool, { mode, domains }: SignUpSettings, now: () => number): SignUpPolicy {
  const isInDomains = (email: string): boolean =>
    domains.length === 0 || domains.includes(email.slice(email.lastIndexOf('@') + 1));
  const invitedBy = async (email: string) => {
    const { rows } = await pool.query<{ by_operator: boolean; by_scim: boolean; by_workspace: boolean }>(
      `select exists(select from sign_up_invitations where email = $1 and expires_at > $2) as by_operator,
           exists(select from scim_users where addresses @> array[$1::text] having count(*) = 1 and bool_and(active)) as by_scim,
           exists(select from workspace_invitations i join workspaces w on w.id = i.workspace_id
             join accounts a on a.id = i.invited_by
             where i.email = $1 and i.expires_at > $2 and w.deleted_at is null and a.disabled_at is null) as by_workspace`,
      [email, new Date(now())],
    );
    return rows[0] ?? { by_operator: false, by_scim: false, by_workspace: false };
  };
  return {
    domains,
    mode,
    async admits(address, by) {
      const email = address.toLowerCase();
      if (mode === 'closed') return false;
      const isInside = isInDomains(email);
      if (mode === 'open' && isInside) return true;
      const invited = await invitedBy(email);
      // An operator’s invitation admits any domain, because the operator chose the address. So does the operator's provider by SCIM.
      return invited.by_operator || (by === 'openid' && invited.by_scim) || (isInside && invited.by_workspace);
    },
    async allowsAddress(address) {
      const email = address.toLowerCase();
      return isInDomains(email) || (await invitedBy(email)).by_operator;
    },
  };
}

/** Throws the error of every refused sign-up. It says nothing about the account or the policy. */
export async function assertMaySignUp(
  policy: Pick<SignUpPolicy, 'admits'>,
  email: string,
  by: SignUpWay,
): Promise<void> {
  if (await policy.admits(email, by)) return;
  throw new APIError('FORBIDDEN', {
    code: 'sign_up_refused',
    message: 'This address cannot sign up here. Ask the operator of this deployment for an invitation',
  });
}

/**
 * Refuses a sign-up by password before better-auth looks for the address. Otherwise an address with an account would
 * get another answer than one without. The hook that creates users asks the policy too, on every path.
 */
export const signUpGate = (policy: Pick<SignUpPolicy, 'admits'>) =>
  ({
    id: 'sotto-sign-up',
    hooks: {
      before: [
        onPaths(['/sign-up/email'], async ({ body }) => {
          if (typeof body?.email === 'string') await assertMaySignUp(policy, body.email, 'password');
        }),
      ],
    },
  }) satisfies BetterAuthPlugin;
