import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { type DescribedService, example, freshEmail } from './described-service.ts';

/** Tests of the audit logs, and of the operations of operators. */
export function describeOperators(stage: DescribedService): void {
  const { toControl, asOwner, signUp, signIn, exampleOf } = stage;

  it('shows audit logs', async () => {
    const parameters = {
      id: ((await asOwner('listWorkspaces', 200)).json as { data: { id: string }[] }).data[0]?.id ?? '',
    };
    await asOwner('listWorkspaceActs', 200, { parameters });
    await asOwner('listWorkspaceActs', 404, { parameters: { id: randomUUID() } });
    for (const id of ['getAccount', 'listAccountActs']) {
      await asOwner(id, 200);
      await toControl(id, 401);
    }
  });

  it('is administered by operators', async () => {
    const person = await signUp();
    const headers = await signIn(person);
    const { id } = (await toControl('getAccount', 200, { headers })).json as { id: string };
    const customer = ((await asOwner('getAccount', 200)).json as { id: string }).id;
    const parameters = { id: customer };
    await toControl('listAccounts', 404, { headers });
    await stage.pool.query(
      `with granted as (insert into operators (user_id) select user_id from accounts where id = $1 returning user_id)
       update auth_session s set factor_at = now() from granted where s.user_id = granted.user_id`,
      [id],
    );
    for (const read of [
      'listAccounts',
      'listSpend',
      'listProviders',
      'listAllOrders',
      'listRejectedSettlements',
      'auditBooks',
      'listActs',
      'getSignUpPolicy',
    ]) {
      await toControl(read, 200, { headers });
      await toControl(read, 401);
    }
    for (const exported of ['listAccounts', 'listProviders', 'listAllOrders'])
      await toControl(exported, 200, { headers, query: '?format=csv' });
    const unknown = { id: randomUUID() };
    await toControl('readAccount', 200, { headers, parameters });
    await toControl('readAccount', 404, { headers, parameters: unknown });
    const stranger = (await signIn(await signUp())) as { cookie: string };
    const other = ((await toControl('getAccount', 200, { headers: stranger })).json as { id: string }).id;
    for (const act of ['creditAccount', 'setMonthlyGrant', 'disableAccount', 'enableAccount']) {
      const body = ['creditAccount', 'setMonthlyGrant'].includes(act) ? example : {};
      const answer = await toControl(act, 200, { headers, parameters: { id: other }, body });
      expect(answer.json).toMatchObject({ id: other });
      await toControl(act, 404, { headers, parameters: unknown, body });
    }
    await toControl('creditAccount', 409, {
      headers,
      parameters: { id: other },
      body: exampleOf('control', 'creditAccount'),
    });
    const leaver = await signUp();
    const leaving = (await toControl('getAccount', 200, { headers: await signIn(leaver) })).json as { id: string };
    const deletion = { headers, parameters: { id: leaving.id }, body: { email: leaver.email } };
    await toControl('deletePerson', 404, { ...deletion, parameters: unknown });
    expect((await toControl('deletePerson', 200, deletion)).json).toMatchObject({ state: 'deleted', email: null });
    await toControl('deletePerson', 409, deletion);
    const { rows } = await stage.pool.query<{ id: string }>(
      `insert into rejected_settlements (id, shard, stream_id, reason, payload, mac)
       values (gen_random_uuid(), 1, '1-1', 'bad_mac', '{}', '') returning id`,
    );
    const rejected = { headers, parameters: { id: rows[0]?.id ?? '' }, body: example };
    await toControl('dismissSettlement', 204, rejected);
    await toControl('dismissSettlement', 404, rejected);
    const invited = await toControl('inviteToSignUp', 201, { headers, body: { email: freshEmail() } });
    await toControl('inviteToSignUp', 400, { headers, body: { email: 'nobody' } });
    const invitation = { headers, parameters: { id: (invited.json as { id: string }).id } };
    await toControl('withdrawSignUpInvitation', 204, invitation);
    await toControl('withdrawSignUpInvitation', 404, invitation);
  });
}
