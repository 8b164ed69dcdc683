import { randomUUID } from 'node:crypto';
import { keyAnswerSchema } from '@sotto/contract/control/keys';
import { usageDailyAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { bookSettlements } from '@sotto/control/testing';
import { beforeAll, describe, expect, it } from 'vitest';
import { bearer, ticketHeader } from '../../kit/client.ts';
import { expectError } from '../../kit/expect-error.ts';
import { peopleOf } from '../../kit/people.ts';
import { get, type HeaderMap, post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import { ownerOf, settlementOf } from '../settlement.ts';

/** An owner of usage: an account, a key that made requests, and a credential. */
interface Owner {
  readonly name: string;
  readonly accountId: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly model: string;
  readonly credential: HeaderMap;
}

const endpoints = ['/usage', '/usage?format=csv', '/usage/daily?group_by=day,key_id', '/usage/daily?format=csv'];
const withQuery = (path: string, query: string): string => `${path}${path.includes('?') ? '&' : '?'}${query}`;

await describeStage('usage', oneModel, (stage) => {
  const url = (path: string): string => `${stage.service.controlUrl}${path}`;
  let owners: Owner[];
  let inferenceKey: string;
  let managementKey: string;

  const minuteNow = Math.floor(Date.now() / 60_000) * 60_000;

  /** Three requests of an owner: now, an hour ago and a hundred days ago. */
  async function use({ accountId, workspaceId, keyId, model }: Omit<Owner, 'credential'>): Promise<void> {
    const batch = [0, 60, 100 * 1440].map((minutesAgo) => ({
      owner: { accountId, workspaceId, keyId },
      settlement: settlementOf({
        id: randomUUID(),
        chargeNusd: '1500',
        at: minuteNow - minutesAgo * 60_000,
        model,
        provider: 'acme',
        promptTokens: 10,
        completionTokens: 20,
      }),
    }));
    await bookSettlements(stage.service.pool, batch);
  }

  async function ownerOfKey(name: string): Promise<Owner & { readonly keys: readonly [string, string] }> {
    const { service } = stage;
    const account = await service.createAccount();
    const ids = await ownerOf(service, account);
    const owner = { name, ...ids, model: `of/${name}`, credential: bearer(account.managementKey) };
    await use(owner);
    return { ...owner, keys: [account.inferenceKey, account.managementKey] };
  }

  async function ownerOfSession(name: string): Promise<Owner> {
    const { accountId, session: credential } = await peopleOf(stage).signUp();
    const made = await post(url('/keys'), { name, kind: 'inference' }, credential);
    const { id: keyId, workspace_id: workspaceId } = keyAnswerSchema.parse(made.json);
    const owner = { name, accountId, workspaceId, keyId, model: `of/${name}`, credential };
    await use(owner);
    return owner;
  }

  beforeAll(async () => {
    const [first, second] = [await ownerOfKey('ada'), await ownerOfKey('ben')];
    [inferenceKey, managementKey] = first.keys;
    owners = [first, second, await ownerOfSession('cy'), await ownerOfSession('dee')];
  });

  describe.each(['/balance', ...endpoints])('%s', (path) => {
    it('needs a credential that may read it', async () => {
      expectError(await get(url(path)), 401, 'unauthenticated');
      expectError(await get(url(path), { cookie: 'sotto.session_token=forged.abc' }), 401, 'unauthenticated');
      for (const key of ['sotto_mgt_nonsense', 'x', `${managementKey.slice(0, -2)}xx`])
        expectError(await get(url(path), bearer(key)), 401, 'invalid_api_key');
      expectError(await get(url(path), bearer(inferenceKey)), 403, 'insufficient_scope');
      const { ticket } = await stage.service.mintTicket(inferenceKey, { model: 'm/one' });
      expectError(await get(url(path), ticketHeader(ticket)), 401, 'unauthenticated');
      // A bearer credential alone decides, even beside a valid session.
      const signedIn = owners[2]?.credential ?? {};
      expectError(await get(url(path), { ...signedIn, ...bearer('sotto_mgt_nonsense') }), 401, 'invalid_api_key');
      expectError(await get(url(path), { ...signedIn, ...bearer(inferenceKey) }), 403, 'insufficient_scope');
      // A request from a foreign page reaches the service, but the browser does not hand over the answer.
      const foreign = await get(url(path), { ...signedIn, origin: 'https://evil.example' });
      expect(foreign.headers.has('access-control-allow-origin')).toBe(false);
      // An error keeps its own format for every accept header, and is never sent as a file.
      const refused = await get(url(path), { accept: 'text/csv' });
      expectError(refused, 401, 'unauthenticated');
      expect(refused.headers.has('content-disposition')).toBe(false);
    });

    it('opens to a management key and to a session, and is not cached', async () => {
      for (const { name, credential } of owners) {
        const answer = await get(url(path), credential);
        expect(answer.status, name).toBe(200);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
    });
  });

  describe.each(endpoints)('%s', (path) => {
    it("shows each account its own usage, and nothing of another's", async () => {
      for (const owner of owners) {
        const { text } = await get(url(withQuery(path, `from=${dayAgo(120)}`)), owner.credential);
        if (!path.startsWith('/usage/daily?format')) expect(text).toContain(owner.keyId);
        for (const other of owners.filter((each) => each !== owner)) {
          for (const mark of [other.keyId, other.workspaceId, other.accountId, other.model])
            expect(text, `${owner.name} sees ${other.name}`).not.toContain(mark);
        }
      }
    });

    it("tells of another's key, workspace and model what it tells of none at all", async () => {
      for (const owner of owners) {
        const ask = async (query: string): Promise<string> => {
          const answer = await get(url(withQuery(path, query)), owner.credential);
          expect(answer.status, answer.text).toBe(200);
          return answer.text;
        };
        const nothing = await ask(`key_id=${randomUUID()}`);
        const nothingOfWorkspace = await ask(`workspace_id=${randomUUID()}`);
        for (const other of owners.filter((each) => each !== owner)) {
          for (const query of [
            `key_id=${other.keyId}`,
            `model=${other.model}`,
            `key_id=${other.keyId}&workspace_id=${other.workspaceId}`,
            `key_id=${other.keyId}&workspace_id=${other.workspaceId}&model=${other.model}`,
            `key_id=${owner.keyId}&workspace_id=${other.workspaceId}`,
            `workspace_id=${owner.workspaceId}&model=${other.model}`,
          ])
            expect(await ask(query), `${owner.name}: ${query} of ${other.name}`).toBe(nothing);
          const theirs = `workspace_id=${other.workspaceId}`;
          expect(await ask(theirs), `${owner.name}: ${theirs} of ${other.name}`).toBe(nothingOfWorkspace);
        }
        expect(await ask(`key_id=${owner.keyId}&workspace_id=${owner.workspaceId}`)).not.toBe(nothing);
      }
    });

    it.each([
      ['from=yesterday', 'from'],
      ['to=2026-02-30', 'to'],
      ['from=0000-01-01', 'from'],
      ['from=2026-01-02&to=2026-01-02', 'to'],
      ['from=2026-01-02&to=2026-01-01', 'to'],
      ['key_id=x', 'key_id'],
      ['workspace_id=%00', 'workspace_id'],
      ['model=%00', 'model'],
      ['from=2026-01-01&from=2026-01-02', 'from'],
    ])('says of ?%s which parameter is wrong', async (query, param) => {
      const answer = await get(url(withQuery(path, query)), owners[0]?.credential);
      expectError(answer, 400, 'invalid_request', param);
    });
  });

  it("a cursor of another's leads nowhere but through one's own", async () => {
    const [ada, ben] = owners;
    if (ada === undefined || ben === undefined) throw new Error('nobody');
    const page = usagePageSchema.parse((await get(url('/usage?limit=1'), ada.credential)).json);
    const stolen = await get(url(`/usage?cursor=${page.next_cursor}`), ben.credential);
    expect(stolen.status).toBe(200);
    for (const { key_id } of usagePageSchema.parse(stolen.json).data) expect(key_id).toBe(ben.keyId);
  });

  it.each(['x', 'MSAxMTExMTExMS0xMTExLTExMTEtMTExMS0xMTExMTExMTExMTE', '%00', 'a'.repeat(300)])(
    'a cursor that is none is refused: %s',
    async (cursor) => {
      expectError(await get(url(`/usage?cursor=${cursor}`), owners[0]?.credential), 400, 'invalid_request', 'cursor');
    },
  );

  it('daily usage is of the last thirty days, or of those that were asked for', async () => {
    const daily = async (query: string) =>
      usageDailyAnswerSchema.parse((await get(url(`/usage/daily${query}`), owners[0]?.credential)).json);
    const recent = await daily('');
    expect(recent.total).toMatchObject({ requests: 2, prompt_tokens: 20, completion_tokens: 40, cost: 0.000003 });
    const longer = await daily(`?from=${dayAgo(120)}&group_by=month,model,provider,operation,privacy_class`);
    expect(longer.total.requests).toBe(3);
    expect(longer.data[0]).toMatchObject({
      month: new Date(minuteNow - 100 * 86_400_000).toISOString().slice(0, 7),
      model: 'of/ada',
      provider: 'acme',
      operation: 'chat',
      privacy_class: 'private',
      requests: 1,
    });
    expect(longer.data[0]).not.toHaveProperty('day');
  });

  it.each([
    [`from=${dayAgo(401)}`, 'from'],
    ['from=9000-01-01', 'from'],
    ['group_by=minute', 'group_by'],
    [`group_by=hour&from=${dayAgo(4)}`, 'from'],
    ['group_by=model,hour&from=2026-01-01&to=2026-01-04T00:01:00Z', 'from'],
    ['group_by=', 'group_by'],
    ['format=xml', 'format'],
  ])('daily usage says of ?%s which parameter is wrong', async (query, param) => {
    expectError(await get(url(`/usage/daily?${query}`), owners[0]?.credential), 400, 'invalid_request', param);
  });

  it('sums hours of at most three days: the last 24 and the present one, or those that were asked for', async () => {
    const account = await stage.service.createAccount();
    const owner = await ownerOf(stage.service, account);
    const times = ['2026-03-10T00:00:00Z', '2026-03-10T00:59:00Z', '2026-03-10T01:00:00Z', '2026-03-12T23:59:00Z'];
    await bookSettlements(
      stage.service.pool,
      [...times, '2026-03-09T23:59:00Z', '2026-03-13T00:00:00Z', new Date(minuteNow).toISOString()].map((at) => ({
        owner,
        settlement: settlementOf({ at: Date.parse(at), model: 'm/hours' }),
      })),
    );
    const ask = (query: string) => get(url(`/usage/daily?group_by=${query}`), bearer(account.managementKey));
    const asked = 'from=2026-03-10T00:30:00Z&to=2026-03-12T23:00:01Z';
    const answer = usageDailyAnswerSchema.parse((await ask(`hour,model&${asked}`)).json);
    const model = { model: 'm/hours', prompt_tokens: 1 };
    expect(answer).toMatchObject({
      data: [
        { hour: '2026-03-10T00:00:00.000Z', ...model, prompt_tokens: 2, requests: 2, cost: 0.000002 },
        { hour: '2026-03-10T01:00:00.000Z', ...model, requests: 1 },
        { hour: '2026-03-12T23:00:00.000Z', ...model, requests: 1 },
      ],
      total: { requests: 4 },
      first_token: null,
    });
    const whole = usageDailyAnswerSchema.parse((await ask(`day&${asked}`)).json);
    expect(whole.total).toEqual(answer.total);
    expect(whole.first_token).not.toBeNull();
    const recent = usageDailyAnswerSchema.parse((await ask('hour')).json);
    expect(recent.total.requests).toBe(1);
    const csv = await ask(`hour,day&${asked}&format=csv`);
    expect(csv.headers.get('content-disposition')).toContain('usage-hourly-2026-03-10-2026-03-13.csv');
    expect(csv.text.split('\r\n')[1]).toBe('2026-03-10T00:00:00.000Z,2026-03-10,2,0,0,0,2,0,2,0,0.000002');
    const many = await ask('hour&from=2026-03-10&to=2026-03-13T00:01:00Z');
    expectError(many, 400, 'invalid_request', 'from');
    expect(many.text).toContain('`from` must be at most 3 days before `to` for counts by hour.');
  });

  it('exports every row that JSON pages through, whatever the page', async () => {
    const credential = owners[0]?.credential ?? {};
    const { data } = usagePageSchema.parse((await get(url('/usage'), credential)).json);
    for (const answer of [
      await get(url('/usage?format=csv&limit=1'), credential),
      await get(url('/usage'), { ...credential, accept: 'text/csv' }),
    ]) {
      expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      expect(answer.headers.get('content-disposition')).toBe('attachment; filename="usage-all.csv"');
      const [head = '', ...lines] = answer.text.trimEnd().split('\r\n');
      expect(head.split(',')).toEqual(Object.keys(data[0] ?? {}));
      expect(lines).toEqual(data.map((row) => Object.values({ ...row, cost: '0.0000015' }).join(',')));
    }
    const ranged = await get(url('/usage?format=csv&from=2026-01-01&to=2026-01-02T12:00:00Z'), credential);
    expect(ranged.headers.get('content-disposition')).toBe('attachment; filename="usage-2026-01-01-2026-01-02.csv"');
  });

  it('exports daily usage with the columns it was grouped by', async () => {
    const query = `format=csv&from=${dayAgo(120)}&to=${dayAgo(-1)}&group_by=model,day`;
    const answer = await get(url(`/usage/daily?${query}`), owners[0]?.credential);
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="usage-daily-${dayAgo(120)}-${dayAgo(-1)}.csv"`,
    );
    const [head, ...lines] = answer.text.trimEnd().split('\r\n');
    expect(head).toBe(
      'day,model,requests,failed,cancelled,estimated,prompt_tokens,cached_tokens,completion_tokens,reasoning_tokens,cost',
    );
    expect(lines[0]).toBe(`${dayAgo(100)},of/ada,1,0,0,0,10,0,20,0,0.0000015`);
  });

  function dayAgo(days: number): string {
    return new Date(minuteNow - days * 86_400_000).toISOString().slice(0, 10);
  }
});
