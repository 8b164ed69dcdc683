import { until } from '@sotto/test-servers';
import { describe, expect, it } from 'vitest';
import { verified } from './people.ts';
import { useWorld } from './world.ts';

const world = await useWorld({ connectedApps: true });

interface Act {
  readonly act: string;
  readonly account_id: string | null;
}

const preferences = {
  provider_allow_fallbacks: true,
  provider_max_attempts: 2,
  provider_minimum_privacy: 'anonymous',
  provider_sort: 'default',
  provider_ignore: [],
};

const policy = { allowed_models: null, max_key_limit_usd: null, max_key_days: 30, openai_compatible: true };

const settingsPath = (id: string) => `/workspaces/${id}/budget-settings`;

describe("a workspace's audit log", () => {
  it('has every act of its members, for its admins, as pages and as CSV', async () => {
    const [ann, ben] = [await verified(world), await verified(world)];
    const [owner, guest] = [ann.visitor, ben.visitor];
    const idOf = async ({ visitor }: typeof ann): Promise<string> => (await visitor.get('/account')).json.id;
    const [annId, benId] = [await idOf(ann), await idOf(ben)];
    const { id } = (await owner.post('/workspaces', { name: 'Team' })).json;
    const at = (path = '') => `/workspaces/${id}${path}`;
    const done = async (answer: Promise<{ status: number; text: string }>): Promise<void> => {
      const { status, text } = await answer;
      expect([200, 201, 204], text).toContain(status);
    };
    await done(owner.send('PATCH', at(), { name: 'New Team' }));
    const withdrawn = (await owner.post(at('/invitations'), { email: 'x@people.example', role: 'viewer' })).json;
    await done(owner.send('DELETE', at(`/invitations/${withdrawn.id}`)));
    const { token } = (await owner.post(at('/invitations'), { email: ben.email, role: 'viewer' })).json;
    await done(guest.post('/invitations/accept', { token }));
    expect((await guest.get(at('/audit'))).status).toBe(403);
    await done(owner.send('PATCH', at(`/members/${benId}`), { role: 'admin' }));
    expect((await guest.get(at('/audit'))).status).toBe(200);
    await done(owner.send('PUT', `/routing/preferences?workspace_id=${id}`, preferences));
    await done(owner.send('PUT', at('/policy'), policy));
    await done(owner.send('PUT', at('/policy'), policy));
    const key = (await guest.post('/keys', { name: 'secret name', kind: 'inference', workspace_id: id })).json;
    await done(owner.send('PATCH', `/keys/${key.id}`, { credit_limit_usd: 5 }));
    await done(owner.send('DELETE', `/keys/${key.id}`));
    await done(owner.send('DELETE', `/keys/${key.id}`));
    const other = (await owner.post('/keys', { name: 'y', kind: 'inference', workspace_id: id })).json;
    await done(owner.send('PATCH', `/keys/${other.id}`, { disabled: true }));
    await done(owner.send('PATCH', `/keys/${other.id}`, { disabled: false, requests_per_minute: 1 }));
    await done(owner.post(`/keys/${other.id}/rotate-secret`, { overlap_hours: 1 }));
    await done(owner.send('DELETE', at(`/members/${benId}`)));
    expect((await guest.get(at('/audit'))).status).toBe(404);

    const { data } = (await owner.get(at('/audit'))).json;
    expect(data.map(({ act }: Act) => act).toReversed()).toEqual([
      'workspace_created',
      'workspace_renamed',
      'invitation_created',
      'invitation_withdrawn',
      'invitation_created',
      'member_joined',
      'member_role_changed',
      'preferences_changed',
      'policy_changed',
      'key_created',
      'key_changed',
      'key_revoked',
      'key_created',
      'key_disabled',
      'key_enabled',
      'key_changed',
      'key_rotated',
      'member_removed',
    ]);
    expect(data[6]).toMatchObject({ actor: 'account', actor_account_id: annId, account_id: benId, workspace_id: id });
    expect(data[7].details).toEqual({ key_id: key.id, credit_limit_usd: 5, locked: 'credit_limit_usd' });
    expect(data[1].details).toEqual({ key_id: other.id, overlap_hours: 1 });
    expect(data[2].details).toEqual({ key_id: other.id, requests_per_minute: 1 });
    const ids: string[] = [];
    for (let cursor = ''; ; ) {
      const page = (await owner.get(at(`/audit?limit=4${cursor}`))).json;
      ids.push(...page.data.map((each: { id: string }) => each.id));
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(ids).toEqual(data.map((each: { id: string }) => each.id));
    const csv = await owner.get(at('/audit'), { accept: 'text/csv' });
    expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.text.split('\r\n')[0]).toBe(
      'id,at,actor,actor_account_id,act,account_id,workspace_id,details,actor_email,account_email,workspace_name,key_name,tag,invited_email',
    );
    expect(csv.text.trim().split('\r\n')).toHaveLength(19);
    // The log itself holds no names.
    const { rows: stored } = await world.pool.query('select * from acts where workspace_id = $1', [id]);
    expect(JSON.stringify(stored)).not.toMatch(/secret name|New Team|people\.example/);

    const filtered = async (query: string): Promise<readonly string[]> =>
      (await owner.get(at(`/audit?${query}`))).json.data.map(({ act }: Act) => act);
    expect(await filtered('act=key_created,key_revoked')).toEqual(['key_created', 'key_revoked', 'key_created']);
    expect(await filtered(`actor_account_id=${benId}`)).toEqual(['key_created', 'member_joined']);
    expect(await filtered(`actor_account_id=${benId}&act=key_created&limit=1`)).toEqual(['key_created']);
    expect(await filtered(`actor_account_id=${id}`)).toEqual([]);
    const some = await owner.get(at('/audit?act=key_created'), { accept: 'text/csv' });
    expect(some.text.trim().split('\r\n')).toHaveLength(3);
    const wrong = await owner.get(at('/audit?act=key_created,key_eaten'));
    expect([wrong.status, wrong.json.error.param]).toEqual([400, 'act']);

    // Each account sees only what concerns it.
    const own = (await guest.get('/account/audit')).json.data;
    expect(own.length).toBeGreaterThan(4);
    expect(own.every((each: Act) => each.account_id === benId)).toBe(true);
    await done(owner.send('DELETE', at()));
    expect((await owner.get(at('/audit'))).status).toBe(404);
  });

  it('tells which limits were removed, and of whom, with names', async () => {
    const [ann, ben] = [await verified(world), await verified(world)];
    const [owner, guest] = [ann.visitor, ben.visitor];
    const benId = (await guest.get('/account')).json.id;
    const { id } = (await owner.post('/workspaces', { name: 'Team' })).json;
    const { token } = (await owner.post(`/workspaces/${id}/invitations`, { email: ben.email, role: 'member' })).json;
    expect((await guest.post('/invitations/accept', { token })).status).toBe(200);
    const rules = { credit_limit_usd: 5, requests_per_minute: 9, allowed_models: null };
    const key = (await guest.post('/keys', { name: 'laptop', kind: 'inference', workspace_id: id, ...rules })).json;
    const change = async (body: object): Promise<void> =>
      expect((await guest.send('PATCH', `/keys/${key.id}`, body)).status).toBe(200);
    // What stays as it is, is not told.
    const same = {
      tokens_per_minute: null,
      expires_at: null,
      allowed_models: null,
      openai_compatible: true,
      tag: null,
    };
    await change({ credit_limit_usd: null, requests_per_minute: null, ...same, name: 'laptop' });
    await change({ ...same, disabled: false });
    await change({ name: 'tower', tag: 'R&D' });
    const policyPath = `/workspaces/${id}/policy`;
    for (const days of [30, 20])
      expect((await owner.send('PUT', policyPath, { ...policy, max_key_days: days })).status).toBe(200);
    const settings = { alert_percents: [50], member_budget_usd: null };
    for (const alert_percents of [[50], [50], [60]])
      expect((await owner.send('PUT', settingsPath(id), { ...settings, alert_percents })).status).toBe(200);
    const budgets = `/workspaces/${id}/budgets`;
    const ofBen = (await owner.send('PUT', budgets, { limit_usd: 7, member_id: benId })).json;
    const ofKey = (await owner.send('PUT', budgets, { limit_usd: 3, key_id: key.id })).json;
    const ofTag = (await owner.send('PUT', budgets, { limit_usd: 2, tag: 'R&D' })).json;
    for (const budget of [ofBen, ofKey])
      expect((await owner.send('DELETE', `${budgets}/${budget.id}`)).status).toBe(204);
    await owner.post(`/workspaces/${id}/invitations`, { email: 'new@people.example', role: 'viewer' });

    const acts = async (visitor = owner, at = `/workspaces/${id}/audit`) => (await visitor.get(at)).json.data;
    const by = { actor_email: ben.email, account_email: ben.email, workspace_name: 'Team', key_name: 'tower' };
    const budgetOf = ({ id: budget_id }: { id: string }, scope: string, limit_usd: number) => ({
      budget_id,
      scope,
      limit_usd,
    });
    const data = await acts();
    expect(data).toMatchObject([
      { act: 'invitation_created', invited_email: 'new@people.example', actor_email: ann.email },
      { act: 'budget_removed', details: { ...budgetOf(ofKey, 'key', 3), key_id: key.id }, key_name: 'tower' },
      {
        act: 'budget_removed',
        details: budgetOf(ofBen, 'member', 7),
        account_email: ben.email,
        actor_email: ann.email,
      },
      { act: 'budget_set', details: budgetOf(ofTag, 'tag', 2), tag: 'R&D', account_email: null },
      { act: 'budget_set', details: { ...budgetOf(ofKey, 'key', 3), key_id: key.id }, key_name: 'tower', tag: null },
      { act: 'budget_set', details: budgetOf(ofBen, 'member', 7), account_email: ben.email },
      { act: 'budget_settings_set' },
      { act: 'budget_settings_set' },
      { act: 'policy_changed' },
      { act: 'policy_changed' },
      { act: 'key_changed', ...by },
      { act: 'key_changed', ...by },
      { act: 'key_created', ...by, details: { kind: 'inference', ...rules } },
      { act: 'member_joined', account_email: ben.email },
      { act: 'invitation_created' },
      { act: 'workspace_created' },
    ]);
    expect(data.slice(6, 12).map(({ details }: { details: object }) => details)).toEqual([
      { alert_percents: '60' },
      { alert_percents: '50' },
      { max_key_days: 20 },
      { max_key_days: 30 },
      { key_id: key.id, renamed: true, tag_changed: true },
      { key_id: key.id, credit_limit_usd: null, requests_per_minute: null },
    ]);
    // A person who left keeps no view of the others, and the admins keep theirs until the account is deleted.
    expect((await acts(guest, '/account/audit'))[0]).toMatchObject({ actor_email: ann.email, workspace_name: 'Team' });
    expect((await owner.send('DELETE', `/workspaces/${id}/members/${benId}`)).status).toBe(204);
    const left = (await acts(guest, '/account/audit')).map(
      (act: Act & { actor_email: string | null }) => act.actor_email,
    );
    expect(new Set(left)).toEqual(new Set([ben.email, null]));
    expect((await acts())[0]).toMatchObject({ act: 'member_removed', account_email: ben.email });
    const { email, password } = ben;
    expect((await guest.post('/auth/delete-account', { email, password })).status).toBe(200);
    const csv = async () => (await owner.get(`/workspaces/${id}/audit`, { accept: 'text/csv' })).text;
    await until(async () => !(await csv()).includes('tower'), 'the name of the key is gone');
    expect(await csv()).not.toContain(ben.email);
  });

  it('tells that a person left who deleted their account', async () => {
    const [ann, ben] = [await verified(world), await verified(world)];
    const { id } = (await ann.visitor.post('/workspaces', { name: 'Team' })).json;
    const invitation = { email: ben.email, role: 'member' };
    const { token } = (await ann.visitor.post(`/workspaces/${id}/invitations`, invitation)).json;
    expect((await ben.visitor.post('/invitations/accept', { token })).status).toBe(200);
    const benId = (await ben.visitor.get('/account')).json.id;
    const { email, password } = ben;
    expect((await ben.visitor.post('/auth/delete-account', { email, password })).status).toBe(200);
    expect((await ann.visitor.get(`/workspaces/${id}/audit`)).json.data[0]).toMatchObject({
      ...{ act: 'member_removed', actor: 'account', actor_account_id: benId, account_id: benId },
      ...{ actor_email: null, account_email: null },
    });
  });

  it('is filtered by time and by kind of actor', async () => {
    const { visitor } = await verified(world);
    const { id } = (await visitor.post('/workspaces', { name: 'Team' })).json;
    await visitor.send('PATCH', `/workspaces/${id}`, { name: 'Other' });
    await world.pool.query(`alter table acts disable trigger acts_append_only`);
    await world.pool.query(
      "update acts set at = '2025-01-05T10:00:00Z' where workspace_id = $1 and act = 'workspace_created'",
      [id],
    );
    await world.pool.query(`alter table acts enable trigger acts_append_only`);
    const filtered = async (query: string): Promise<readonly string[]> =>
      (await visitor.get(`/workspaces/${id}/audit?${query}`)).json.data.map(({ act }: Act) => act);
    expect(await filtered('from=2025-01-05&to=2025-01-06')).toEqual(['workspace_created']);
    expect(await filtered('from=2025-01-06')).toEqual(['workspace_renamed']);
    expect(await filtered('actor=account')).toEqual(['workspace_renamed', 'workspace_created']);
    expect(await filtered('actor=operator')).toEqual([]);
    const wrong = await visitor.get(`/workspaces/${id}/audit?from=2025-01-05&to=2025-01-05`);
    expect([wrong.status, wrong.json.error.param]).toEqual([400, 'to']);
  });

  it('says when the secret of an app was rotated, and when it was disabled', async () => {
    const { visitor } = await verified(world);
    const app = await visitor.post('/connect/apps', {
      name: 'App',
      homepage: 'https://app.example',
      type: 'confidential',
      redirect_uris: ['https://app.example/callback'],
      scopes: ['inference'],
    });
    expect(app.status, app.text).toBe(201);
    expect((await visitor.post(`/connect/apps/${app.json.id}/rotate-secret`)).status).toBe(200);
    expect((await visitor.send('DELETE', `/connect/apps/${app.json.id}`)).status).toBe(204);
    expect((await visitor.get('/account/audit')).json.data).toMatchObject([
      { act: 'app_disabled', details: { app_id: app.json.id } },
      { act: 'app_secret_rotated', details: { app_id: app.json.id } },
    ]);
  });
});
