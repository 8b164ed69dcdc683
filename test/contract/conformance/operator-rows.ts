import { randomUUID } from 'node:crypto';
import type { peopleOf } from '../../kit/people.ts';
import type { Stage } from '../../kit/stage/stage.ts';
import { ofOperators, type Row, row } from './caller-table.ts';

/** The routes of operators, with what each caller gets. */
export function operatorRows(suite: Stage, people: ReturnType<typeof peopleOf>): readonly Row[] {
  let toDelete = '';
  const customer = async () => (await people.signUp()).accountId;
  const inserted = async (statement: string): Promise<string> =>
    (await suite.service.pool.query<{ id: string }>(`insert into ${statement} returning id`)).rows[0]?.id ?? '';
  const operatorRow = (route: string, ok: number, more: Omit<Row, 'route' | 'expected'> = {}): Row =>
    row(route, ofOperators(route, ok), more);
  return [
    operatorRow('GET /v1/operator/accounts', 200),
    operatorRow('GET /v1/operator/accounts/{id}', 200, { prepare: customer }),
    operatorRow('GET /v1/operator/spend', 200),
    operatorRow('POST /v1/operator/accounts/{id}/credit', 200, {
      prepare: customer,
      body: { amount_usd: 1, reference: randomUUID() },
    }),
    operatorRow('PUT /v1/operator/accounts/{id}/monthly-grant', 200, { prepare: customer, body: { amount_usd: null } }),
    operatorRow('POST /v1/operator/accounts/{id}/disable', 200, { prepare: customer }),
    operatorRow('POST /v1/operator/accounts/{id}/enable', 200, { prepare: customer }),
    operatorRow('POST /v1/operator/accounts/{id}/delete', 200, {
      prepare: async () => {
        const { accountId, email } = await people.signUp();
        toDelete = email;
        return accountId;
      },
      body: () => ({ email: toDelete }),
    }),
    operatorRow('GET /v1/operator/providers', 200),
    operatorRow('GET /v1/operator/orders', 200),
    operatorRow('GET /v1/operator/rejected-settlements', 200),
    operatorRow('POST /v1/operator/rejected-settlements/{id}/dismiss', 204, {
      // The audit would report what the refused callers leave.
      prepare: async (caller) =>
        caller === 'an operator'
          ? inserted(`rejected_settlements (id, shard, stream_id, reason, payload, mac)
              values (gen_random_uuid(), 1, '1-1', 'bad_mac', '{}', '')`)
          : randomUUID(),
      body: { why: 'a test' },
    }),
    operatorRow('GET /v1/operator/books', 200),
    operatorRow('GET /v1/operator/audit', 200),
    operatorRow('GET /v1/operator/sign-up', 200),
    operatorRow('POST /v1/operator/invitations', 201, {
      body: () => ({ email: `${randomUUID()}@people.example` }),
    }),
    operatorRow('DELETE /v1/operator/invitations/{id}', 204, {
      prepare: () =>
        inserted(`sign_up_invitations (id, email, expires_at)
          values (gen_random_uuid(), gen_random_uuid() || '@people.example', now() + interval '1 day')`),
    }),
  ];
}
