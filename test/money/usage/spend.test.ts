import { randomUUID } from 'node:crypto';
import { keyAnswerSchema } from '@sotto/contract/control/keys';
import { operatorSpendAnswerSchema } from '@sotto/contract/control/operator';
import { usageDailyAnswerSchema } from '@sotto/contract/control/usage';
import { bookSettlements, createAccount, insertKey } from '@sotto/control/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { connect, newApp, newPerson } from '../../kit/connected-apps.ts';
import { expectError } from '../../kit/expect-error.ts';
import { type Person, peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post, send } from '../../kit/send.ts';
import { until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import { settlementOf } from '../settlement.ts';

/** Months long before the present one. */
const [january, february] = ['2025-01', '2025-02'] as const;
const now = Date.now();
const today = new Date(now).toISOString().slice(0, 10);
const thisMonth = today.slice(0, 7);
const bothMonths = `from=${january}-01&to=2025-03-01`;
const who = 'group_by=month,workspace_id,member_id,key_id,model';

await describeStage('who spent what', { ...oneModel, features: ['connected apps'] }, (stage) => {
  const people = peopleOf(stage);
  const { url } = people;
  let ann: Person;
  let admin: Person;
  let ben: Person;
  let cat: Person;
  let viewer: Person;
  let workspaceId: string;
  let management: HeaderMap;
  const keyOf = new Map<string, string>();

  const makeKey = async (person: Person, name: string, more: object = {}) => {
    const answer = await post(
      url('/keys'),
      { name, kind: 'inference', workspace_id: workspaceId, ...more },
      person.session,
    );
    expect(answer.status, answer.text).toBe(201);
    const key = keyAnswerSchema.parse(answer.json);
    keyOf.set(name, key.id);
    return key;
  };
  /** Books requests of a key, each of a micro-dollar. */
  const use =
    (of: { readonly accountId: string; readonly workspaceId: string; readonly keyId: string }) =>
    async (month: string, model: string, requests: number): Promise<void> => {
      await bookSettlements(
        stage.service.pool,
        Array.from({ length: requests }, (_, index) => ({
          owner: of,
          settlement: settlementOf({
            ...{ id: randomUUID(), month, model },
            at: month === thisMonth ? now : Date.parse(`${month}-${10 + index}`),
          }),
        })),
      );
    };
  const daily = async (query: string, credential: HeaderMap) => {
    const answer = await get(url(`/usage/daily?${query}`), credential);
    expect(answer.status, answer.text).toBe(200);
    return usageDailyAnswerSchema.parse(answer.json).data;
  };

  beforeAll(async () => {
    ann = await people.signUp();
    workspaceId = await people.makeWorkspace(ann, 'Research, and more');
    [admin, ben, cat, viewer] = [
      await people.join(ann, workspaceId, 'admin'),
      await people.join(ann, workspaceId, 'member'),
      await people.join(ann, workspaceId, 'member'),
      await people.join(ann, workspaceId, 'viewer'),
    ];
    management = bearer((await people.makeKey(ann, workspaceId, 'management')).key);
    await makeKey(ben, 'laptop', { tag: 'R&D' });
    await makeKey(ben, 'night job');
    await makeKey(cat, 'phone', { tag: 'R&D' });
    const of = (name: string) => use({ accountId: ann.accountId, workspaceId, keyId: keyOf.get(name) ?? '' });
    await of('laptop')(january, 'm/one', 2);
    await of('laptop')(january, 'm/two', 1);
    await of('laptop')(february, 'm/one', 1);
    await of('night job')(february, 'm/one', 3);
    await of('phone')(february, 'm/two', 4);
  });

  const rowsOf = (named: {
    readonly laptop: string;
    readonly ben: string | null;
    readonly phone: string;
    readonly cat: string | null;
  }) =>
    [
      [january, named.ben, named.laptop, 'm/one', 2],
      [january, named.ben, named.laptop, 'm/two', 1],
      [february, named.ben, named.laptop, 'm/one', 1],
      [february, named.ben, 'night job', 'm/one', 3],
      [february, named.cat, named.phone, 'm/two', 4],
    ].map(String);
  const told = async (credential: HeaderMap): Promise<string[]> =>
    (await daily(`${bothMonths}&${who}&workspace_id=${workspaceId}`, credential)).map((row) => {
      expect(row).toMatchObject({ workspace_id: workspaceId, workspace_name: 'Research, and more' });
      expect(row.cost).toBeCloseTo(row.requests * 1e-6, 12);
      return String([row.month, row.member_email, row.key_name, row.model, row.requests]);
    });

  it('is told of any month, with names, to a management key, the owner and admins, and to nobody else', async () => {
    const all = rowsOf({ laptop: 'laptop', ben: ben.email, phone: 'phone', cat: cat.email });
    for (const credential of [management, ann.session, admin.session])
      expect((await told(credential)).toSorted()).toEqual(all.toSorted());
    const everywhere = `/usage/daily?${who}&workspace_id=${workspaceId}`;
    for (const { session } of [ben, viewer]) expectError(await get(url(everywhere), session), 403, 'forbidden');
    const ofCat = `/usage/daily?workspace_id=${workspaceId}&member_id=${cat.accountId}`;
    for (const { session } of [ben, viewer]) expectError(await get(url(ofCat), session), 403, 'forbidden');
    const own = await daily(
      `${bothMonths}&group_by=month&workspace_id=${workspaceId}&member_id=${ben.accountId}`,
      ben.session,
    );
    expect(own.map(({ month, requests }) => [month, requests])).toEqual([
      [january, 3],
      [february, 4],
    ]);
    // A stranger reads their own spending, which is nothing there.
    const stranger = await people.signUp();
    expect(await daily(`${bothMonths}&${who}&workspace_id=${workspaceId}`, stranger.session)).toEqual([]);
  });

  it('is a CSV file with the same rows and names', async () => {
    const answer = await get(url(`/usage/daily?format=csv&${bothMonths}&${who}`), management);
    const [head = '', ...lines] = answer.text.trimEnd().split('\r\n');
    expect(head).toMatch(/^month,workspace_id,workspace_name,member_id,member_email,key_id,key_name,model,requests,/);
    expect(lines).toHaveLength(5);
    const phone = lines.find((line) => line.includes('phone'));
    expect(phone).toMatch(
      `${february},${workspaceId},"Research, and more",${cat.accountId},${cat.email},${keyOf.get('phone')},phone,m/two,4,`,
    );
    expect(phone?.endsWith(',0.000004'), phone).toBe(true);
  });

  it('is grouped and filtered by the tag that a key has now', async () => {
    const byTag = async (query = '') =>
      (await daily(`${bothMonths}&group_by=tag${query}`, management)).map(({ tag, requests }) => [tag, requests]);
    expect(await byTag()).toEqual([
      ['R&D', 8],
      [null, 3],
    ]);
    expect(await byTag(`&tag=${encodeURIComponent('R&D')}&member_id=${ben.accountId}`)).toEqual([['R&D', 4]]);
    const id = keyOf.get('night job');
    const tagged = async (tag: string | null) =>
      keyAnswerSchema.parse((await send('PATCH', url(`/keys/${id}`), { headers: ben.session, body: { tag } })).json);
    expect((await tagged('Sales')).tag).toBe('Sales');
    expect(await byTag()).toEqual([
      ['R&D', 8],
      ['Sales', 3],
    ]);
    expect((await tagged(null)).tag).toBeNull();
    expectError(
      await post(url('/keys'), { name: 'x', kind: 'inference', tag: ' ' }, ben.session),
      400,
      'invalid_request',
      'tag',
    );
  });

  it('hides names, members and tags from an app', async () => {
    const owner = await newPerson(stage.service);
    const { accessToken } = await connect(stage.service, owner, await newApp(stage.service, owner));
    const { rows } = await stage.service.pool.query<{ key_id: string; workspace_id: string }>(
      'select g.key_id, k.workspace_id from connect_grants g join api_keys k on k.id = g.key_id where g.account_id = $1',
      [owner.accountId],
    );
    const [grant] = rows;
    if (grant === undefined) throw new Error('there is no grant');
    await use({ accountId: owner.accountId, workspaceId: grant.workspace_id, keyId: grant.key_id })(
      january,
      'm/one',
      1,
    );
    const [row, ...others] = await daily(`${bothMonths}&group_by=workspace_id,key_id`, bearer(accessToken));
    expect(others).toEqual([]);
    expect(row).toMatchObject({ key_id: grant.key_id, requests: 1 });
    expect(Object.keys(row ?? {}).filter((field) => /name|email/.test(field))).toEqual([]);
    for (const asked of ['group_by=member_id', 'group_by=tag', 'tag=x', `member_id=${owner.accountId}`])
      expectError(await get(url(`/usage/daily?${asked}`), bearer(accessToken)), 403, 'forbidden');
    for (const path of ['/usage', '/usage/refusals']) {
      expect((await get(url(path), bearer(accessToken))).status).toBe(200);
      const ofMember = await get(url(`${path}?member_id=${owner.accountId}`), bearer(accessToken));
      expectError(ofMember, 403, 'forbidden');
    }
  });

  describe('for operators', () => {
    let operator: HeaderMap;
    const spend = async (query: string) => {
      const answer = await get(url(`/operator/spend?${query}`), operator);
      expect(answer.status, answer.text).toBe(200);
      return operatorSpendAnswerSchema.parse(answer.json);
    };
    beforeAll(async () => {
      const person = await people.signUp();
      await people.makeOperator(person);
      operator = person.session;
    });

    it('is what each person used in each workspace and month, wherever, without models and keys', async () => {
      const ofTeam = `${bothMonths}&workspace_id=${workspaceId}`;
      const { data, total, next_cursor } = await spend(ofTeam);
      const row = (month: string, { accountId, email }: Person, requests: number) => ({
        month,
        workspace_id: workspaceId,
        workspace_name: 'Research, and more',
        payer_id: ann.accountId,
        payer_email: ann.email,
        member_id: accountId,
        member_email: email,
        requests,
        cost: requests * 1e-6,
      });
      const [first, second] = [row(february, ben, 4), row(february, cat, 4)].toSorted((one, other) =>
        one.member_id < other.member_id ? -1 : 1,
      );
      expect(data).toEqual([first, second, row(january, ben, 3)]);
      expect([total, next_cursor]).toEqual([{ requests: 11, cost: 0.000011 }, null]);
      // Without a first day, it begins with the month of the last one, which is the day before `to`.
      const spentUntil = async (to: string) => (await spend(`workspace_id=${workspaceId}&to=${to}`)).data;
      expect(await spentUntil('2025-03-01')).toEqual([first, second]);
      expect(await spentUntil('2025-02-09')).toEqual([]);
      expect(await spentUntil('2025-02-01')).toEqual([row(january, ben, 3)]);
      // Page by page, with the same total.
      const paged = [];
      for (let cursor = ''; ; ) {
        const page = await spend(`${ofTeam}&limit=1${cursor}`);
        expect(page.total).toEqual(total);
        paged.push(...page.data);
        if (page.next_cursor === null) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(paged).toEqual(data);
      expectError(await get(url('/operator/spend?cursor=x'), operator), 400, 'invalid_request', 'cursor');

      const csv = await get(url(`/operator/spend?format=csv&${ofTeam}`), operator);
      const [head, ...lines] = csv.text.trimEnd().split('\r\n');
      expect(head).toBe('month,workspace_id,workspace_name,payer_id,payer_email,member_id,member_email,requests,cost');
      expect(lines).toHaveLength(3);
      expect(lines.at(-1)).toMatch(new RegExp(`^${january},.*,${ben.email},3,0.000003$`));
    });

    it('is printed by the command line, with the rows of the API', async () => {
      const run = async (...args: string[]) => {
        const { code, output } = await stage.service.runControl(['spend', ...args]);
        return { code, output: output.trim() };
      };
      const months = ['--from', january, '--to', february];
      const { data, total } = await spend(bothMonths);
      expect(data.length).toBeGreaterThan(2);
      const json = await run(...months, '--format', 'json');
      expect([json.code, JSON.parse(json.output)]).toEqual([0, { data, total }]);
      const csv = await get(url(`/operator/spend?format=csv&${bothMonths}`), operator);
      expect(await run(...months, '--format', 'csv')).toEqual({ code: 0, output: csv.text.trim() });
      const lines = (await run('--from', january, '--to', january)).output.split('\n');
      expect(lines).toContain(
        `${january}  0.000003 USD  3 requests  by ${ben.email}  in workspace ${workspaceId} "Research, and more"  paid by ${ann.email}`,
      );
      expect(lines).toHaveLength(data.filter(({ month }) => month === january).length);
      for (const [args, said] of [
        [['--from', '2025-1'], '--from is "2025-1"; it takes a month such as 2026-11'],
        [['--from', february, '--to', january], `--from is ${february}, which is later than --to`],
        [['--format', 'xml'], '--format is "xml"; it takes csv or json'],
      ] as const)
        expect(await run(...args)).toEqual({ code: 2, output: expect.stringContaining(said) });
    });

    it('has what a person used in the workspace of another, and the account shows both sides', async () => {
      const laptop = { accountId: ann.accountId, workspaceId, keyId: keyOf.get('laptop') ?? '' };
      await use(laptop)(thisMonth, 'm/one', 1);
      const { data } = await spend(`account_id=${ben.accountId}`);
      expect(data).toMatchObject([
        { month: thisMonth, payer_email: ann.email, member_email: ben.email, requests: 1, cost: 1e-6 },
      ]);
      const account = async ({ accountId }: Person) =>
        (await get(url(`/operator/accounts/${accountId}`), operator)).json as Record<string, unknown>;
      expect(await account(ben)).toMatchObject({
        spent_this_month_usd: 0,
        used_this_month_usd: 1e-6,
        last_used_on: today,
      });
      expect(await account(ann)).toMatchObject({
        spent_this_month_usd: 1e-6,
        used_this_month_usd: 0,
        last_used_on: null,
      });
    });

    it('never shows an anonymous wallet, alone or in the total', async () => {
      const { pool } = stage.service;
      const before = (await spend(bothMonths)).total;
      const { accountId, defaultWorkspaceId } = await createAccount(pool, { userId: undefined, name: 'wallet' });
      const made = await insertKey(pool, {
        ...{ accountId, workspaceId: defaultWorkspaceId, kind: 'inference', name: 'wallet' },
        ...{ creditLimitNusd: undefined, openaiCompatible: false },
      });
      const used = use({ accountId, workspaceId: defaultWorkspaceId, keyId: made.id });
      await used(january, 'm/one', 5);
      // Until it is known as a wallet, it is counted.
      expect((await spend(bothMonths)).total.requests).toBe(before.requests + 5);
      await pool.query('insert into wallets (account_id, key_id, key_hash, close_hash) values ($1, $2, $3, $4)', [
        ...[accountId, made.id, randomUUID(), randomUUID()],
      ]);
      expect((await spend(bothMonths)).total).toEqual(before);
      for (const query of ['', '&format=csv', `&account_id=${accountId}`, `&workspace_id=${defaultWorkspaceId}`])
        expect((await get(url(`/operator/spend?${bothMonths}${query}`), operator)).text).not.toContain(accountId);
      const listed = async (query: string) => (await get(url(`/operator/accounts?limit=100${query}`), operator)).text;
      expect(await listed('')).not.toContain(accountId);
      expect(await listed(`&search=${accountId}`)).toContain(accountId);
    });
  });

  it('names a revoked key and a removed member as before, a deleted person no more, and leaves closed months in their tags', async () => {
    const remove = async (path: string, by: Person): Promise<void> =>
      expect((await send('DELETE', url(path), { headers: by.session })).status).toBe(204);
    await remove(`/keys/${keyOf.get('laptop')}`, ben);
    await remove(`/workspaces/${workspaceId}/members/${ben.accountId}`, ann);
    const { email, password, session } = cat;
    expect((await post(url('/auth/delete-account'), { email, password }, session)).status).toBe(200);
    const after = rowsOf({ laptop: 'laptop', ben: ben.email, phone: 'Deleted key', cat: null });
    await until(
      async () => (await told(management)).toSorted().join() === after.toSorted().join(),
      'the names of the deleted person are gone',
    );
    const tags = await daily(`${bothMonths}&group_by=tag`, management);
    expect(tags.map(({ tag, requests }) => [tag, requests])).toEqual([
      ['R&D', 8],
      [null, 3],
    ]);
  });
});
