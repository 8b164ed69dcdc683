import { describe, expect, it } from 'vitest';
import { newOperator, verified } from './people.ts';
import { useWorld, type Visitor } from './world.ts';

const world = await useWorld({ signUp: { mode: 'open', domains: [] } });

const idOf = async (visitor: Visitor): Promise<string> => (await visitor.get('/account')).json.id;

describe("the operators' audit log", () => {
  it('names people and workspaces, and finds acts by person, workspace, kind of actor and time', async () => {
    const { visitor } = await newOperator(world);
    const customer = await verified(world);
    const id = await idOf(customer.visitor);
    const { id: workspaceId } = (await customer.visitor.post('/workspaces', { name: 'Their team' })).json;
    const made = await customer.visitor.post('/keys', { name: 'secret', kind: 'inference', workspace_id: workspaceId });
    expect(made.status).toBe(201);
    const credit = { amount_usd: 1, reference: `audit ${id}` };
    expect((await visitor.post(`/operator/accounts/${id}/credit`, credit)).status).toBe(200);
    const found = async (query: string) =>
      (await visitor.get(`/operator/audit?${query}`)).json.data.map(({ act }: { act: string }) => act);
    const all = ['account_credited', 'key_created', 'workspace_created'];
    expect(await found(`search=${customer.email.toUpperCase()}`)).toEqual(all);
    expect(await found(`search=${id}`)).toEqual(all);
    expect(await found(`search=${customer.email}&actor=operator`)).toEqual(['account_credited']);
    expect(await found(`search=${customer.email}&act=key_created`)).toEqual(['key_created']);
    expect(await found(`workspace_id=${workspaceId}`)).toEqual(all.slice(1));
    expect(await found(`search=${customer.email}&to=2020-01-01`)).toEqual([]);
    const { data } = (await visitor.get(`/operator/audit?search=${id}`)).json;
    expect(data[0]).toMatchObject({ account_email: customer.email, actor_email: expect.stringContaining('@') });
    // Operators see no keys, and so no names of keys.
    expect(data[1]).toMatchObject({ workspace_name: 'Their team', actor_email: customer.email, key_name: null });
    const csv = await visitor.get(`/operator/audit?format=csv&search=${id}`);
    expect(csv.text.trim().split('\r\n')).toHaveLength(4);
    expect(csv.text).toContain(`,${customer.email},`);
    // The person does not learn which operator it was.
    const own = (await customer.visitor.get('/account/audit')).json.data;
    expect(own[0]).toMatchObject({ act: 'account_credited', actor_account_id: null, actor_email: null });
    const list = (await world.cli(['acts', 'list'])).lines.join('\n');
    expect(list).toContain(`by account ${customer.email}`);
  });
});

describe('lists', () => {
  it('are exported whole, with people by their addresses, and orders of a month', async () => {
    const [{ visitor, email }, buyer] = [await newOperator(world), await verified(world)];
    const id = await idOf(buyer.visitor);
    await world.pool.query(
      `insert into orders (id, account_id, status, rail, package_id, amount_nusd, fee_nusd, automatic, save_card, created_at, expires_at)
       select gen_random_uuid(), $1, 'expired', 'card', 'p' || n, 5000000000, 0, false, false,
         '2026-01-31T23:59:59Z'::timestamptz + n * interval '1 second', now() from generate_series(0, 129) n`,
      [id],
    );
    const january = (await visitor.get('/operator/orders?from=2026-01-01&to=2026-02-01')).json;
    expect(january.data).toMatchObject([{ account_id: id, account_email: buyer.email, package_id: 'p0' }]);
    const linesOf = async (path: string) => (await visitor.get(path)).text.trimEnd().split('\r\n');
    const [head, ...orders] = await linesOf('/operator/orders?format=csv&from=2026-02-01&to=2026-03-01');
    expect(head).toMatch(/^id,status,package_id,.*,account_id,account_email$/);
    expect(orders).toHaveLength(129);
    expect(orders.every((line) => line.endsWith(`,${id},${buyer.email}`))).toBe(true);
    const [accounts, ...people] = await linesOf(`/operator/accounts?format=csv&search=${encodeURIComponent(email)}`);
    expect(accounts).toMatch(/^id,email,name,state,is_operator,balance_usd,monthly_grant,/);
    expect(people).toHaveLength(1);
    expect((await linesOf('/operator/providers?format=csv'))[0]).toMatch(/^provider,routes,.*ttft_ms_p50,ttft_ms_p90,/);
  });
});
