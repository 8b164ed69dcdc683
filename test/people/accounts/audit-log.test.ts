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
    const limited = { credit_limit_usd: 5, openai_compatible: true };
    expect(data[7].details).toEqual({ key_id: key.id, ...limited, locked: 'credit_limit_usd' });
    expect(data[1].details).toEqual({ key_id: other.id, overlap_hours: 1 });
    const rules = { credit_limit_usd: null, openai_compatible: true, requests_per_minute: 1 };
    expect(data[2].details).toEqual({ key_id: other.id, ...rules });
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
    expect(csv.text.split('\r\n')[0]).toBe('id,at,actor,actor_account_id,act,account_id,workspace_id,details');
    expect(csv.text.trim().split('\r\n')).toHaveLength(19);
    expect(csv.text).not.toMatch(/secret name|New Team|people\.example/);

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
