import {
  type AccountAnswer,
  accountAnswerSchema,
  type OperatorOrderPage,
  operatorContracts,
  operatorOrderPageSchema,
  type ProviderListAnswer,
} from '@sotto/contract/control/operator';
import { monthOf } from '@sotto/state';
import { ServiceError } from '@sotto/wire';
import type pg from 'pg';
import { deletedByOperatorMail, deletePerson } from '../account-deletion/delete-person.ts';
import { answerActs } from '../audit-log/read-acts.ts';
import type { Actor } from '../audit-log/record-act.ts';
import { setMonthlyGrant } from '../billing/monthly-grants/account-grant.ts';
import type { MonthlyGrants } from '../billing/monthly-grants/monthly-grants.ts';
import { listAllOrders } from '../billing/orders/order-store.ts';
import type { CatalogKeeper } from '../catalog/catalog-keeper.ts';
import { orError, type Refused } from '../database/refused.ts';
import type { Domain } from '../domain.ts';
import type { ControlEvents } from '../events.ts';
import type { Mailer } from '../mail/mail.ts';
import { auditLedger, type Finding } from '../money-audit/audit-ledger.ts';
import { projectKeys } from '../projection/project-keys.ts';
import type { Projector } from '../projection/projector.ts';
import { sendCsv, wantsCsv } from '../serve/csv.ts';
import { notFound } from '../serve/not-found.ts';
import { wholePages } from '../serve/page-cursor.ts';
import { readUsd } from '../serve/read-usd.ts';
import type { Serve } from '../serve/serve.ts';
import type { SignUpPolicy } from '../sessions/sign-up-policy.ts';
import { dateOf, dayRange } from '../usage/day-range.ts';
import { accountErrors, deletionErrors } from './account-errors.ts';
import {
  creditAsOperator,
  disableAccount,
  enableAccount,
  findAccount,
  listAccounts,
  type NoAccount,
} from './account-store.ts';
import { listProviders } from './provider-list.ts';
import { dismissRejected, listRejected } from './rejected-settlements.ts';
import {
  hasSignedUp,
  inviteToSignUp,
  listSignUpInvitations,
  signUpInvitationMail,
  withdrawSignUpInvitation,
} from './sign-up-invitations.ts';
import { exportSpend, readSpend, spendColumns } from './spend-store.ts';

export interface OperatorDependencies {
  readonly pool: pg.Pool;
  readonly projector: Projector;
  readonly keeper: CatalogKeeper;
  readonly signUp: SignUpPolicy;
  readonly grants: Pick<MonthlyGrants, 'giveTo' | 'defaultNusd'>;
  readonly mailer: Mailer | undefined;
  /** Revokes the keys of a deleted account. */
  readonly endDeleted: (accountId: string) => Promise<void>;
  /** The public control origin. */
  readonly origin: string;
  readonly events: Pick<ControlEvents, 'taskFailed'>;
  readonly now: () => number;
}

export const buildOperator = (deps: OperatorDependencies): Domain => ({
  register: ({ serve }) => serveOperator(serve, deps),
});

const as = ({ accountId }: { readonly accountId: string }): Actor => ({ kind: 'operator', accountId });

/** Serves the administration of the deployment. `serve` has checked the role, and the second factor of acts. */
function serveOperator(serve: Serve, deps: OperatorDependencies): void {
  const { pool, projector, keeper, signUp, grants, now } = deps;
  const reading = { now, defaultGrantNusd: grants.defaultNusd };
  const read = async (id: string): Promise<AccountAnswer> => {
    const account = await findAccount(pool, id, reading);
    if (account === undefined) throw notFound('account');
    return account;
  };
  // An audit reads the whole ledger, so requests that come meanwhile wait for the same one.
  let running: Promise<Finding[]> | undefined;
  const audit = (): Promise<Finding[]> => {
    running ??= auditLedger(pool).finally(() => {
      running = undefined;
    });
    return running;
  };
  const projected = async (id: string, keyIds: readonly string[] | Refused<NoAccount>): Promise<AccountAnswer> => {
    await projectKeys(projector, orError(keyIds, accountErrors));
    return read(id);
  };
  serve(operatorContracts)({
    'GET /v1/operator/accounts': ({ query: { format, search, ...page }, request, reply }) => {
      if (!wantsCsv(format, request.headers.accept)) return listAccounts(pool, { search, ...page }, reading);
      const pages = wholePages((cursor) => listAccounts(pool, { search, limit: 100, cursor }, reading));
      return sendCsv(reply, {
        filename: 'accounts.csv',
        columns: accountColumns,
        pages: mapPages(pages, exportedAccount),
      });
    },
    'GET /v1/operator/accounts/{id}': ({ params }) => read(params.id),

    'GET /v1/operator/spend': async ({ query: { format, limit, cursor, from, to, ...asked }, request, reply }) => {
      const itsMonth = monthOf(to === undefined ? now() : to.getTime() - 1);
      const question = { ...asked, days: dayRange({ from: from ?? new Date(`${itsMonth}-01`), to }, now()) };
      if (!wantsCsv(format, request.headers.accept)) return readSpend(pool, question, { limit, cursor });
      return sendCsv(reply, {
        filename: `spend-${dateOf(question.days.from)}-${dateOf(question.days.to)}.csv`,
        columns: spendColumns,
        pages: exportSpend(pool, question),
      });
    },

    'POST /v1/operator/accounts/{id}/credit': async ({ caller, params: { id }, body }) => {
      const amountNusd = readUsd('amount_usd', body.amount_usd);
      const credit = { accountId: id, amountNusd, actor: as(caller) };
      const credited = await creditAsOperator(pool, { ...credit, reference: body.reference });
      if (orError(credited, accountErrors).outcome !== 'credited')
        throw new ServiceError('conflict', {
          message: `The reference ${JSON.stringify(body.reference)} was credited before.`,
          param: 'reference',
        });
      // The projector catches up by itself if the state is unavailable.
      await projector.account(id).catch((error: unknown) => deps.events.taskFailed('projection', error));
      return read(id);
    },
    'PUT /v1/operator/accounts/{id}/monthly-grant': async ({ caller, params: { id }, body: { amount_usd: usd } }) => {
      const amountNusd = usd === null ? undefined : readUsd('amount_usd', usd);
      if (!(await setMonthlyGrant(pool, { accountId: id, amountNusd, actor: as(caller) }))) throw notFound('account');
      await grants.giveTo(id).catch((error: unknown) => deps.events.taskFailed('monthly grants', error));
      return read(id);
    },
    'POST /v1/operator/accounts/{id}/disable': async ({ caller, params: { id } }) => {
      if (caller.accountId === id)
        throw new ServiceError('conflict', { message: 'You cannot disable your own account.' });
      return projected(id, await disableAccount(pool, { accountId: id, actor: as(caller) }));
    },
    'POST /v1/operator/accounts/{id}/enable': async ({ caller, params: { id } }) =>
      projected(id, await enableAccount(pool, { accountId: id, actor: as(caller) })),

    'POST /v1/operator/accounts/{id}/delete': async ({ caller, params: { id }, body }) => {
      const { email, with_workspaces: withWorkspaces } = body;
      const deletion = { accountId: id, email, withWorkspaces, actor: as(caller) };
      orError(await deletePerson(pool, deletion, now()), deletionErrors(email));
      await deps.endDeleted(id);
      void deps.mailer
        ?.send(deletedByOperatorMail(deps.origin, email))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      return read(id);
    },

    'GET /v1/operator/providers': async ({ query: { format }, request, reply }) => {
      const data = await listProviders(pool, keeper, now());
      if (!wantsCsv(format, request.headers.accept)) return { data };
      const pages = mapPages(
        wholePages(async () => ({ data, next_cursor: null })),
        exportedProvider,
      );
      return sendCsv(reply, { filename: 'providers.csv', columns: providerColumns, pages });
    },
    'GET /v1/operator/orders': ({ query: { format, limit, cursor, ...time }, request, reply }) => {
      if (!wantsCsv(format, request.headers.accept)) return listAllOrders(pool, { ...time, limit, cursor });
      const pages = wholePages((at) => listAllOrders(pool, { ...time, limit: 100, cursor: at }));
      return sendCsv(reply, { filename: 'orders.csv', columns: orderColumns, pages: mapPages(pages, exportedOrder) });
    },
    'GET /v1/operator/rejected-settlements': async () => ({ data: await listRejected(pool) }),
    'POST /v1/operator/rejected-settlements/{id}/dismiss': async ({ caller, params: { id }, body }) => {
      if (!(await dismissRejected(pool, { id, why: body.why, actor: as(caller) }))) throw notFound('settlement');
    },
    'GET /v1/operator/books': async () => {
      const findings = await audit();
      return { is_clean: findings.length === 0, findings };
    },

    'GET /v1/operator/audit': (call) => answerActs(pool, { kind: 'operator' }, call),

    'GET /v1/operator/sign-up': async () => {
      const { mode, domains } = signUp;
      return { mode, domains: [...domains], invitations: await listSignUpInvitations(pool, now()) };
    },
    'POST /v1/operator/invitations': async ({ caller, body: { email } }) => {
      if (signUp.mode === 'closed')
        throw new ServiceError('conflict', {
          message: 'Sign-up is closed, also for invited people. Set SIGN_UP to `invited` to admit them.',
        });
      const invitation = await inviteToSignUp(pool, { email, actor: as(caller) }, now());
      // Its person needs no invitation to sign up. Workspaces of other domains can invite it from now on.
      if (await hasSignedUp(pool, email)) return invitation;
      void deps.mailer
        ?.send(signUpInvitationMail(deps.origin, invitation))
        .catch((error: unknown) => deps.events.taskFailed('mail', error));
      return invitation;
    },
    'DELETE /v1/operator/invitations/{id}': async ({ caller, params: { id } }) => {
      if (!(await withdrawSignUpInvitation(pool, { id, actor: as(caller) }))) throw notFound('invitation');
    },
  });
}

async function* mapPages<Entry, Row>(
  pages: AsyncIterable<readonly Entry[]>,
  toRow: (entry: Entry) => Row,
): AsyncGenerator<readonly Row[]> {
  for await (const page of pages) yield page.map(toRow);
}

// The columns of CSV are the fields of JSON, in their order. An object is one cell.
const accountColumns = accountAnswerSchema.keyof().options;
const exportedAccount = ({ monthly_grant: grant, ...account }: AccountAnswer) => ({
  ...account,
  monthly_grant: grant?.amount_usd ?? null,
});
const orderColumns = operatorOrderPageSchema.shape.data.element.keyof().options;
const exportedOrder = ({ problem, ...order }: OperatorOrderPage['data'][number]) => ({
  ...order,
  problem: problem?.code ?? null,
});
const providerColumns = [
  ...(['provider', 'routes', 'penalized_routes', 'requests', 'success_rate'] as const),
  ...(['ttft_ms_p50', 'ttft_ms_p90', 'spent_this_month_usd'] as const),
];
const exportedProvider = ({ ttft_ms: ttft, ...provider }: ProviderListAnswer['data'][number]) => ({
  ...provider,
  ttft_ms_p50: ttft?.p50 ?? null,
  ttft_ms_p90: ttft?.p90 ?? null,
});
