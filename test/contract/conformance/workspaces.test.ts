import { randomUUID } from 'node:crypto';
import { invitationOfferAnswerSchema } from '@sotto/contract/control/invitations';
import { keyListAnswerSchema } from '@sotto/contract/control/keys';
import {
  balanceAnswerSchema,
  type UsagePage,
  usageDailyAnswerSchema,
  usagePageSchema,
} from '@sotto/contract/control/usage';
import type { WorkspaceRole } from '@sotto/contract/control/workspace-role';
import {
  workspaceAnswerSchema,
  workspaceInvitationListAnswerSchema,
  workspaceListAnswerSchema,
  workspaceMemberListAnswerSchema,
} from '@sotto/contract/control/workspaces';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, bearer } from '../../kit/client.ts';
import { type Concept, describeConformance } from '../../kit/conformance.ts';
import { expectCallersFault, expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { policies } from './policies.ts';

const model = 'acme/small';
const boundary = { provider_allow_fallbacks: true, provider_max_attempts: 2, provider_minimum_privacy: 'anonymous' };
const preferences = { ...boundary, provider_sort: 'default', provider_ignore: [] };

/** Tests workspaces, their members and roles (docs/use/accounts-and-workspaces.md). */
const workspaces: Concept = (suite) => {
  const { url, signUp, makeWorkspace, invite, accept, join, makeKey, fund } = peopleOf(suite);
  const listed = async ({ session }: Person) =>
    workspaceListAnswerSchema.parse((await get(url('/workspaces'), session)).json).data;
  const serves = async (key: string): Promise<number> => (await ask(suite.service, key, { model })).status;

  describe('users in a workspace', () => {
    let owner: Person;
    let admin: Person;
    let member: Person;
    let workspaceId = '';

    beforeAll(async () => {
      owner = await signUp();
      workspaceId = await makeWorkspace(owner);
      [admin, member] = [await join(owner, workspaceId, 'admin'), await join(owner, workspaceId, 'member')];
    });

    const at = (path = ''): string => url(`/workspaces/${workspaceId}${path}`);
    const freshMember = async (): Promise<string> => (await join(owner, workspaceId, 'viewer')).accountId;
    const patch = (path: string, body: unknown, headers: HeaderMap) => send('PATCH', path, { headers, body });
    const remove = (path: string, headers: HeaderMap) => send('DELETE', path, { headers });
    const invitation = (role: WorkspaceRole) => ({ email: `${randomUUID()}@people.example`, role });

    it('a member changes and revokes their own keys', async () => {
      const { id } = await makeKey(member, workspaceId);
      expect((await patch(url(`/keys/${id}`), { name: 'mine' }, member.session)).status).toBe(200);
      expect((await remove(url(`/keys/${id}`), member.session)).status).toBe(204);
    });

    it('a change of role cannot create an owner, and the owner can neither leave nor be removed', async () => {
      const other = await freshMember();
      expectError(await patch(at(`/members/${other}`), { role: 'owner' }, owner.session), 400, 'invalid_request');
      for (const headers of [owner.session, admin.session]) {
        const path = at(`/members/${owner.accountId}`);
        expectError(await remove(path, headers), 409, 'conflict');
        expectError(await patch(path, { role: 'viewer' }, headers), 409, 'conflict');
      }
      const { data } = workspaceMemberListAnswerSchema.parse((await get(at('/members'), owner.session)).json);
      expect(data[0]).toMatchObject({ account_id: owner.accountId, email: owner.email, role: 'owner' });
      expect(data.filter(({ role }) => role === 'owner')).toHaveLength(1);
    });

    it('a member whose account an operator disabled is listed as disabled, until it is enabled', async () => {
      const other = await join(owner, workspaceId, 'member');
      const disabledNow = async (): Promise<readonly string[]> => {
        const { data } = workspaceMemberListAnswerSchema.parse((await get(at('/members'), admin.session)).json);
        return data.filter(({ disabled }) => disabled).map(({ account_id }) => account_id);
      };
      expect(await disabledNow()).toEqual([]);
      expect((await suite.service.runControl(['account', 'disable', other.accountId])).code).toBe(0);
      expect(await disabledNow()).toEqual([other.accountId]);
      const changed = await patch(at(`/members/${other.accountId}`), { role: 'viewer' }, admin.session);
      expect(changed.json).toMatchObject({ role: 'viewer', disabled: true });
      expect((await suite.service.runControl(['account', 'enable', other.accountId])).code).toBe(0);
      expect(await disabledNow()).toEqual([]);
    });

    it('unknown and malformed ids are 404 for every caller', async () => {
      for (const id of ['x', '%00', '..%2f..', randomUUID()]) {
        expectError(await patch(url(`/workspaces/${id}`), { name: 'x' }, owner.session), 404, 'not_found');
        expectError(await remove(url(`/workspaces/${id}`), owner.session), 404, 'not_found');
        expectError(await get(url(`/workspaces/${id}/members`), owner.session), 404, 'not_found');
        expectError(await remove(at(`/members/${id}`), owner.session), 404, 'not_found');
        expectError(await remove(at(`/invitations/${id}`), owner.session), 404, 'not_found');
      }
    });

    it.each<[string, unknown]>([
      ['no name', {}],
      ['an empty name', { name: '  ' }],
      ['a NUL in the name', { name: 'a\0b' }],
      ['a name without end', { name: 'x'.repeat(10_000) }],
      ['an unknown field', { name: 'x', is_default: true }],
      ['a list', []],
    ])('creating or renaming a workspace with %s is a clear 400', async (_, body) => {
      expectError(await post(url('/workspaces'), body, owner.session), 400, 'invalid_request');
      expectError(await patch(at(), body, owner.session), 400, 'invalid_request');
    });

    it.each<[string, unknown]>([
      ['no address', { role: 'member' }],
      ['an address that is none', { email: 'nope', role: 'member' }],
      ['an address with a line break', { email: 'a@b.example\nbcc: x@y.example', role: 'member' }],
      ['an unknown role', { email: 'a@b.example', role: 'root' }],
      ['an unknown field', { email: 'a@b.example', role: 'member', token: 'x' }],
    ])('inviting with %s is a clear 400', async (_, body) => {
      expectError(await post(at('/invitations'), body, owner.session), 400, 'invalid_request');
    });

    it('a page of another site cannot create, invite or delete anything (CSRF)', async () => {
      const foreign = { ...owner.session, origin: 'https://evil.example' };
      expectError(await post(url('/workspaces'), { name: 'x' }, foreign), 403, 'forbidden');
      expectError(await post(at('/invitations'), invitation('admin'), foreign), 403, 'forbidden');
      expectError(await post(url('/invitations/accept'), { token: 'x' }, foreign), 403, 'forbidden');
      expectError(await remove(at(), foreign), 403, 'forbidden');
    });
  });

  describe('a workspace', () => {
    it('can be created, renamed and deleted, except for the default workspace', async () => {
      const ann = await signUp();
      const id = await makeWorkspace(ann, 'First');
      const renamed = await send('PATCH', url(`/workspaces/${id}`), { headers: ann.session, body: { name: 'Second' } });
      expect(workspaceAnswerSchema.parse(renamed.json)).toMatchObject({ id, name: 'Second', role: 'owner' });
      const [first, second] = await listed(ann);
      expect(first).toMatchObject({ name: 'Default Workspace', is_default: true, role: 'owner' });
      expect(second).toMatchObject({ id, name: 'Second', is_default: false });
      const byDefault = await send('DELETE', url(`/workspaces/${first?.id}`), { headers: ann.session });
      expectError(byDefault, 409, 'conflict');
      expect((await send('DELETE', url(`/workspaces/${id}`), { headers: ann.session })).status).toBe(204);
      expect(await listed(ann)).toHaveLength(1);
      for (const path of [`/routing/preferences?workspace_id=${id}`, `/keys?workspace_id=${id}`]) {
        expectError(await get(url(path), ann.session), 404, 'not_found');
      }
    });

    it('once deleted, its keys and their tickets are invalid, and its usage is still shown', async () => {
      const ann = await signUp();
      await fund(ann);
      const id = await makeWorkspace(ann);
      const ben = await join(ann, id, 'member');
      const made = await makeKey(ben, id);
      expect(await serves(made.key)).toBe(200);
      const { ticket } = await suite.service.mintTicket(made.key, { model });
      expect((await send('DELETE', url(`/workspaces/${id}`), { headers: ann.session })).status).toBe(204);
      expectError(await ask(suite.service, made.key, { model }), 401, 'invalid_api_key');
      expectError(await post(url('/inference/tickets'), { model }, bearer(made.key)), 401, 'invalid_api_key');
      const late = { model, messages: [{ role: 'user', content: 'x' }] };
      const redeemed = await post(`${suite.service.baseUrl}/chat/completions`, late, { 'x-router-ticket': ticket });
      expectError(redeemed, 401, 'invalid_ticket');
      const usage = async () =>
        usagePageSchema.parse((await get(url(`/usage?workspace_id=${id}`), ann.session)).json).data;
      await until(async () => (await usage()).length === 1, 'the usage is there');
      const { data } = keyListAnswerSchema.parse((await get(url('/keys'), ann.session)).json);
      expect(data.find((key) => key.id === made.id)).toMatchObject({ created_by: ben.accountId });
      expect(data.find((key) => key.id === made.id)?.revoked_at).not.toBeNull();
    });

    it('has its own preferences, which its keys follow', async () => {
      const ann = await signUp();
      await fund(ann);
      const id = await makeWorkspace(ann);
      const [strict, free] = [await makeKey(ann, id), await makeKey(ann, (await listed(ann))[0]?.id ?? '')];
      const body = { ...preferences, provider_ignore: ['acme'] };
      const put = await send('PUT', url(`/routing/preferences?workspace_id=${id}`), { headers: ann.session, body });
      expect(put.status, put.text).toBe(200);
      expectError(await ask(suite.service, strict.key, { model }), 400, 'no_provider_route');
      expect(await serves(free.key)).toBe(200);
    });

    it('members see the requests of their own keys, admins those of all, and viewers only sums', async () => {
      const ann = await signUp();
      await fund(ann);
      const id = await makeWorkspace(ann);
      const [ben, cat, dee] = await Promise.all(
        (['member', 'admin', 'viewer'] as const).map((role) => join(ann, id, role)),
      );
      if (ben === undefined || cat === undefined || dee === undefined) throw new Error('nobody');
      const [annsKey, bensKey, catsKey] = [await makeKey(ann, id), await makeKey(ben, id), await makeKey(cat, id)];
      for (const { key } of [annsKey, bensKey, catsKey]) expect(await serves(key)).toBe(200);
      const path = `/usage?workspace_id=${id}`;
      const keysOf = async (who: Person, query = ''): Promise<string[]> => {
        const answer = await get(url(`${path}${query}`), who.session);
        expect(answer.status, answer.text).toBe(200);
        return usagePageSchema.parse(answer.json).data.map(({ key_id: keyId }) => keyId);
      };
      await until(async () => (await keysOf(ann)).length === 3, 'the usage is there');
      const all = [annsKey.id, bensKey.id, catsKey.id].sort();
      expect((await keysOf(ann)).sort()).toEqual(all);
      expect((await keysOf(cat)).sort()).toEqual(all);
      expect(await keysOf(ben)).toEqual([bensKey.id]);
      // A filter, a page or an export leads no further.
      expect(await keysOf(ben, `&member_id=${ann.accountId}`)).toEqual([]);
      expect(await keysOf(ben, `&key_id=${annsKey.id}`)).toEqual([]);
      expect(await keysOf(ben, `&member_id=${ben.accountId}&limit=1`)).toEqual([bensKey.id]);
      expect(await keysOf(cat, `&member_id=${ben.accountId}`)).toEqual([bensKey.id]);
      expect(await keysOf(ann, `&member_id=${randomUUID()}`)).toEqual([]);
      const first = usagePageSchema.parse((await get(url(`${path}&limit=1`), ann.session)).json);
      for (const keyId of await keysOf(ben, `&cursor=${first.next_cursor}`)) expect(keyId).toBe(bensKey.id);
      const csv = await get(url(`${path}&format=csv`), ben.session);
      expect(csv.text).toContain(bensKey.id);
      for (const other of [annsKey, catsKey]) expect(csv.text).not.toContain(other.id);
      for (const query of ['', '&format=csv', `&member_id=${dee.accountId}`])
        expectError(await get(url(`${path}${query}`), dee.session), 403, 'forbidden');
      for (const who of [ann, ben, cat, dee]) {
        const daily = await get(url(`/usage/daily?workspace_id=${id}`), who.session);
        expect(daily.json).toMatchObject({ total: { requests: 3 } });
      }
      // Hours are nearly rows: whoever may not read a row has no sum of it, and no filter or export leads further.
      const hours = `/usage/daily?group_by=hour,key_id&workspace_id=${id}`;
      for (const [who, keys] of [
        [ann, all],
        [cat, all],
        [ben, [bensKey.id]],
      ] as const) {
        const { data } = usageDailyAnswerSchema.parse((await get(url(hours), who.session)).json);
        expect(data.map(({ key_id: keyId }) => keyId).sort()).toEqual(keys);
      }
      const ofBen = [`&key_id=${annsKey.id}`, `&member_id=${ben.accountId.toUpperCase()}&key_id=${annsKey.id}`];
      for (const query of ofBen)
        expect((await get(url(`${hours}${query}`), ben.session)).json).toMatchObject({ total: { requests: 0 } });
      expect((await get(url(`${hours}&format=csv`), ben.session)).text).not.toContain(annsKey.id);
      expectError(await get(url(`${hours}&member_id=${ann.accountId}`), ben.session), 403, 'forbidden');
      for (const query of ['', '&format=csv', `&member_id=${dee.accountId}`])
        expectError(await get(url(`${hours}${query}`), dee.session), 403, 'forbidden');
    });

    it('its owner pays; members see its usage with costs, and no other amounts', async () => {
      const [ann, cat] = [await signUp(), await signUp()];
      await fund(ann);
      const id = await makeWorkspace(ann);
      const ben = await join(ann, id, 'member');
      const [shared, own] = [await makeKey(ben, id), await makeKey(ann, (await listed(ann))[0]?.id ?? '')];
      for (const { key } of [shared, own]) expect(await serves(key)).toBe(200);
      const read = async (who: Person, path: string): Promise<UsagePage['data']> =>
        usagePageSchema.parse((await get(url(path), who.session)).json).data;
      await until(async () => (await read(ann, '/usage')).length === 2, 'the usage is there');
      const seen = await read(ben, `/usage?workspace_id=${id}`);
      expect(seen.map(({ key_id: keyId }) => keyId)).toEqual([shared.id]);
      expect(seen[0]?.cost).toBeGreaterThan(0);
      const daily = await get(url(`/usage/daily?group_by=key_id&workspace_id=${id}`), ben.session);
      expect(daily.json).toMatchObject({ total: { requests: 1 } });
      expect(daily.text).not.toContain(own.id);
      expect(await read(ben, '/usage')).toEqual([]);
      expect(await read(cat, `/usage?workspace_id=${id}`)).toEqual([]);
      for (const path of ['/balance', `/billing/orders`, '/billing/receipts', '/billing/settings']) {
        const [bens, cats] = [await get(url(path), ben.session), await get(url(path), cat.session)];
        expect({ ...bens, headers: {} }).toEqual({ ...cats, headers: {} });
      }
      expect(balanceAnswerSchema.parse((await get(url('/balance'), ben.session)).json).available).toBe(0);
    });

    it('a user who leaves or is removed has no working key and no access; other members keep theirs', async () => {
      const ann = await signUp();
      await fund(ann);
      const id = await makeWorkspace(ann);
      const [ben, cat, dan] = [
        await join(ann, id, 'member'),
        await join(ann, id, 'admin'),
        await join(ann, id, 'member'),
      ];
      const keys = await Promise.all([ben, cat, dan].map((who) => makeKey(who, id)));
      for (const { key } of keys) await until(async () => (await serves(key)) === 200, 'the key is usable');
      const member = (who: Person): string => url(`/workspaces/${id}/members/${who.accountId}`);
      expect((await send('DELETE', member(ben), { headers: ben.session })).status).toBe(204);
      expect((await send('DELETE', member(cat), { headers: ann.session })).status).toBe(204);
      const statuses = await Promise.all(keys.map(({ key }) => serves(key)));
      expect(statuses).toEqual([401, 401, 200]);
      for (const who of [ben, cat]) {
        expect((await listed(who)).map((workspace) => workspace.id)).not.toContain(id);
        expectError(await get(url(`/keys?workspace_id=${id}`), who.session), 404, 'not_found');
      }
    });
  });

  describe('an invitation', () => {
    it('shows the invited user its workspace, works once, and works for no other user', async () => {
      const [ann, ben, eve] = [await signUp(), await signUp(), await signUp()];
      const id = await makeWorkspace(ann, 'Poets');
      const { token } = await invite(ann, id, ben.email.toUpperCase(), 'member');
      for (const path of ['read', 'accept', 'decline']) {
        expectError(await post(url(`/invitations/${path}`), { token }, eve.session), 403, 'forbidden');
        expectError(await post(url(`/invitations/${path}`), { token }), 401, 'unauthenticated');
      }
      const preview = await post(url('/invitations/preview'), { token });
      expect(preview.json).toEqual({ workspace: 'Poets', invited_by: ann.email });
      expectError(await post(url('/invitations/preview'), { token: `${token}x` }), 404, 'not_found');
      const offer = await post(url('/invitations/read'), { token }, ben.session);
      expect(invitationOfferAnswerSchema.parse(offer.json)).toMatchObject({
        workspace: 'Poets',
        role: 'member',
        invited_by: ann.email,
      });
      const waiting = await get(url(`/workspaces/${id}/invitations`), ann.session);
      expect(workspaceInvitationListAnswerSchema.parse(waiting.json).data).toHaveLength(1);
      expect(waiting.text).not.toContain(token);
      const joined = await accept(ben, token);
      expect(workspaceAnswerSchema.parse(joined.json)).toMatchObject({
        ...{ id, name: 'Poets', role: 'member' },
        owner_email: ann.email,
      });
      expectError(await accept(ben, token), 404, 'not_found');
      expect((await listed(ben)).at(-1)).toMatchObject({
        id,
        role: 'member',
        is_default: false,
        owner_email: ann.email,
      });
    });

    it('cannot be accepted after it is declined or withdrawn', async () => {
      const [ann, ben] = [await signUp(), await signUp()];
      const id = await makeWorkspace(ann);
      const declined = await invite(ann, id, ben.email, 'member');
      expect((await post(url('/invitations/decline'), { token: declined.token }, ben.session)).status).toBe(204);
      const withdrawn = await invite(ann, id, ben.email, 'member');
      const path = url(`/workspaces/${id}/invitations/${withdrawn.id}`);
      expect((await send('DELETE', path, { headers: ann.session })).status).toBe(204);
      for (const { token } of [declined, withdrawn]) expectError(await accept(ben, token), 404, 'not_found');
      expect(await listed(ben)).toHaveLength(1);
    });

    it.each<[string, unknown]>([
      ['no token', {}],
      ['a token that is none', { token: 'x' }],
      ['a token that is a list', { token: ['x'] }],
      ['a NUL', { token: 'a\0b' }],
      ['a token without end', { token: 'x'.repeat(10_000) }],
    ])('accepting with %s is a clear 4xx', async (_, body) => {
      expectCallersFault(await post(url('/invitations/accept'), body, (await signUp()).session));
    });

    it('for the role of owner transfers the workspace, and the wallet of the new owner pays', async () => {
      const ann = await signUp();
      await fund(ann);
      const id = await makeWorkspace(ann);
      const ben = await join(ann, id, 'member');
      const before = await makeKey(ann, id);
      expect(await serves(before.key)).toBe(200);
      const { token } = await invite(ann, id, ben.email, 'owner');
      expect(workspaceAnswerSchema.parse((await accept(ben, token)).json).role).toBe('owner');
      expect(await serves(before.key)).toBe(401);
      expect((await listed(ann)).find((workspace) => workspace.id === id)?.role).toBe('admin');
      // Ben's wallet is empty, and the workspace no longer uses Ann's.
      expectError(await ask(suite.service, (await makeKey(ann, id)).key, { model }), 402, 'insufficient_balance');
      const kept = (await listed(ann)).find(({ is_default: isDefault }) => isDefault)?.id ?? '';
      const offer = { email: ben.email, role: 'owner' };
      expectError(await post(url(`/workspaces/${kept}/invitations`), offer, ann.session), 409, 'conflict');
    });
  });
};

await describeConformance('workspaces', [workspaces, policies], { features: ['connected apps'] });
