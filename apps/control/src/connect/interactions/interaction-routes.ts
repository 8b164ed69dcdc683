import type { Maxima } from '@sotto/contract';
import type { AppScope } from '@sotto/contract/control/app-scopes';
import { type AnswerInteraction, interactionContracts } from '@sotto/contract/control/connect';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type pg from 'pg';
import type { SignedIn } from '../../credentials/session-credentials.ts';
import { inTransaction } from '../../database/in-transaction.ts';
import { orError } from '../../database/refused.ts';
import { maximumErrors } from '../../limits/maximum-errors.ts';
import { projectKeys } from '../../projection/project-keys.ts';
import type { Projector } from '../../projection/projector.ts';
import { pagesOf } from '../../serve/page-cursor.ts';
import { readUsd } from '../../serve/read-usd.ts';
import type { Serve } from '../../serve/serve.ts';
import { needsSecureCookies } from '../../sessions/cookies.ts';
import { mayDo } from '../../workspaces/permissions.ts';
import { accessErrors } from '../../workspaces/require-workspace.ts';
import { listWorkspaces } from '../../workspaces/workspace-store.ts';
import { type BeyondPolicy, createGrant, hasActiveGrant } from '../grants/grant-store.ts';
import { cookieValue, type OidcProvider, requestCookieName } from '../protocol/provider.ts';
import { type AppRequest, claimRequest, type Interaction, markAnswered, readAppRequest } from './app-request.ts';

export interface InteractionRoutesDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly provider: () => Promise<OidcProvider>;
  /** The public control origin. */
  readonly origin: string;
  readonly maxima: Maxima;
  readonly now: () => number;
}

/** A request that a person has opened. */
interface Opened {
  readonly person: SignedIn;
  readonly interaction: Interaction;
  readonly request: AppRequest;
  readonly signInAgain: boolean;
}

/**
 * Serves the data of the consent page and accepts the person's decision. A request can be opened only in the browser in
 * which it began, by its cookie, and only by the account that opened it first.
 */
export function serveInteractions(serve: Serve, deps: InteractionRoutesDependencies): void {
  const { pool, projector, now } = deps;
  const cookieName = requestCookieName(needsSecureCookies(deps.origin));

  const open = async (person: SignedIn, uid: string, { headers }: FastifyRequest): Promise<Opened> => {
    const provider = await deps.provider();
    const interaction =
      cookieValue(headers.cookie, cookieName) === uid ? await provider.Interaction.find(uid) : undefined;
    if (interaction === undefined) throw unknownRequest();
    if (!(await claimRequest(pool, uid, person.accountId))) throw openedByAnother();
    const asked = orError(await readAppRequest(provider, interaction, now()), requestErrors);
    const signInAgain = asked.signedInSince !== undefined && person.signedInAt < asked.signedInSince;
    return { person, interaction, request: asked, signInAgain };
  };

  serve(interactionContracts)({
    'GET /v1/connect/interactions/{uid}': async ({ caller, params, request }) => {
      const { person, request: asked, signInAgain } = await open(caller, params.uid, request);
      const workspaces: WorkspaceAnswer[] = [];
      for await (const each of pagesOf((cursor) => listWorkspaces(pool, person.accountId, { limit: 500, cursor })))
        workspaces.push(each);
      return {
        app: {
          name: asked.name,
          homepage: asked.homepage,
          verified: false,
          redirect_host: new URL(asked.redirectUri).host,
        },
        scopes: asked.scopes.map((scope) => ({ scope, sentence: scopeDescriptions[scope] })),
        workspaces: workspaces
          .filter(({ role }) => mayDo(role, 'useOwnKeys'))
          .map(({ id, name, is_default, role }) => ({ id, name, is_default, role })),
        returning: await hasActiveGrant(pool, person.accountId, asked.appId),
        email: person.email,
        sign_in_again: signInAgain,
      };
    },

    'POST /v1/connect/interactions/{uid}': async ({ caller, params, body, request }) => {
      const opened = await open(caller, params.uid, request);
      const { interaction } = opened;
      const result = body.decision === 'deny' ? await deny(interaction.uid) : await allow(opened, body);
      // If another tab has answered already, that answer stands.
      if (result !== undefined) {
        interaction.result = result;
        await interaction.persist();
      }
      return { redirect_to: interaction.returnTo };
    },
  });

  const deny = async (uid: string): Promise<typeof denied | undefined> =>
    (await markAnswered(pool, uid)) ? denied : undefined;

  const allow = async (
    { person, interaction, request, signInAgain }: Opened,
    answer: Extract<AnswerInteraction, { decision: 'allow' }>,
  ): Promise<Interaction['result']> => {
    if (signInAgain) {
      throw new ServiceError('forbidden', {
        message: 'The app asks for a new sign-in. Sign out, sign in, and allow it then.',
      });
    }
    const creditLimitNusd = limitOf(request, answer.credit_limit_usd);
    const granted = await inTransaction(pool, async (client) =>
      (await markAnswered(client, interaction.uid))
        ? createGrant(client, {
            accountId: person.accountId,
            appId: request.appId,
            redirectUri: request.redirectUri,
            scopes: request.scopes,
            workspaceId: answer.workspace_id,
            maxima: deps.maxima,
            creditLimitNusd,
          })
        : undefined,
    );
    const made = orError(granted, grantErrors);
    if (made === undefined) return undefined;
    // Publish the key now, so that the app's first ticket finds it.
    await projectKeys(projector, made.keyIds);
    return {
      login: { accountId: person.accountId, ts: person.signedInAt, remember: false },
      consent: { grantId: made.grantId },
    };
  };
}

const denied = { error: 'access_denied', error_description: 'The person did not allow it.' } as const;

/**
 * Returns the spending limit in nano-USD. The person must choose a limit, or explicitly none, for an app that can
 * spend.
 */
function limitOf({ scopes }: AppRequest, usd: number | null | undefined): bigint | undefined {
  if (!scopes.includes('inference')) return 0n;
  if (usd === undefined) {
    throw new ServiceError('invalid_request', {
      message: '`credit_limit_usd` is required for an app that sends requests: USD, or null for no limit.',
      param: 'credit_limit_usd',
    });
  }
  return usd === null ? undefined : readUsd('credit_limit_usd', usd);
}

const requestErrors = {
  app_changed: () =>
    new ServiceError('conflict', { message: 'The app has changed since it asked. Go back to it and start again.' }),
  no_scope: () =>
    new ServiceError('invalid_request', {
      message: 'The app asks for nothing: its request has no scope that is known here.',
    }),
};

const grantErrors = {
  ...accessErrors,
  ...maximumErrors,
  ...requestErrors,
  beyond_policy: ({ mostNusd }: BeyondPolicy) =>
    new ServiceError('invalid_request', {
      message: `\`credit_limit_usd\` is above ${nusdToUsd(mostNusd)}, the most that the policy of this workspace allows.`,
      param: 'credit_limit_usd',
    }),
};

const openedByAnother = (): ServiceError =>
  new ServiceError('forbidden', {
    message: 'Another account has opened this request. Go back to the app and start again.',
  });

const unknownRequest = (): ServiceError =>
  new ServiceError('not_found', {
    message:
      'There is no such request in this browser: it has expired or was answered. Go back to the app and start again.',
  });

/** The meaning of each scope, shown on the consent page. */
const scopeDescriptions = {
  openid: 'Know you by a name that is made for this app alone.',
  email: 'See your email address.',
  inference: 'Send requests to models and spend from the balance of the workspace, up to the limit that you set.',
  'usage:read': 'See the usage of the workspace and, where it is yours, your balance.',
} as const satisfies Record<AppScope, string>;
