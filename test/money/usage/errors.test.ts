import { type UsagePage, usageDailyAnswerSchema, usagePageSchema } from '@sotto/contract/control/usage';
import { sealAccountRef, signSettlement, type ToldSettlement } from '@sotto/state';
import { withRedis } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import { addSettlement } from '../../kit/add-settlement.ts';
import { expectBooked, expectNothingHeld, usageOf } from '../../kit/books.ts';
import { ask, bearer, type Flow } from '../../kit/client.ts';
import { type Act, type Script, scripted } from '../../kit/scripted-provider.ts';
import { get, type SendOptions } from '../../kit/send.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { accountRefKey, ownerOf, settlementMacKey, settlementOf, shardOf } from '../settlement.ts';
import { moneySpec } from '../spec.ts';

const credited = 10_000_000_000n;
const answer: Act = { kind: 'answer', usage: usageOf(10, 20) };
const status = (code: number, more: { readonly message?: string; readonly code?: string } = {}): Act => ({
  kind: 'status',
  status: code,
  ...more,
});
const refused = status(400, { code: 'content_policy_violation' });
/** All fields of a row. They name its minute, and no latency, request id or answer id. */
const fields = [
  'id',
  'at',
  'workspace_id',
  'key_id',
  'operation',
  'model',
  'provider',
  'privacy_class',
  'prompt_tokens',
  'cached_tokens',
  'completion_tokens',
  'reasoning_tokens',
  'cost',
  'attempts',
  'fallback',
  'status',
  'estimated',
  'error',
  'provider_status',
  'failed_attempts',
];

await describeStage('errors of requests', moneySpec, (stage, which) => {
  const rowsOf = async ({ managementKey }: TestAccount, query = ''): Promise<UsagePage['data']> =>
    usagePageSchema.parse((await get(`${stage.service.controlUrl}/usage${query}`, bearer(managementKey))).json).data;

  interface Asked extends SendOptions {
    readonly model?: string;
    readonly flow?: Flow;
    readonly stream?: boolean;
    readonly body?: object;
    /** The client leaves once the provider is asked. */
    readonly leavesOnceAsked?: boolean;
  }
  const asks = (
    account: TestAccount,
    script: Script,
    { model = 'm/one', flow = 'compatibility', stream = false, leavesOnceAsked = false, body, ...how }: Asked,
  ) => {
    const salt = String(Math.random());
    const isAsked = () => stage.scripted('alpha').seen.some(({ text }) => text.includes(salt));
    const leaving = leavesOnceAsked ? { leaveOn: until(isAsked, 'the provider is asked') } : {};
    return ask(
      stage.service,
      account.inferenceKey,
      {
        model,
        messages: [{ role: 'user', content: scripted(script, salt) }],
        max_completion_tokens: 100,
        stream,
        ...body,
      },
      { flow, ...how, ...leaving },
    );
  };

  /** The one row of a new account that sent one request. */
  async function rowOf(script: Script, asked: Asked): Promise<UsagePage['data'][number]> {
    const account = await stage.service.createAccount();
    await asks(account, script, asked);
    await until(async () => (await rowsOf(account)).length > 0, 'the request has a row');
    await expectBooked(stage.service, account, credited);
    const [row, ...others] = await rowsOf(account);
    if (row === undefined || others.length > 0) throw new Error('one request has one row');
    expect(Object.keys(row)).toEqual(fields);
    expect(row.at).toMatch(/:00(\.000)?Z$/);
    return row;
  }

  const afterFirst = (text: string): boolean => text.includes('"content":');
  it.concurrent.each<[string, string, Script, Asked]>([
    ['provider', 'fails', { alpha: status(500) }, {}],
    ['provider', 'rejects the key of the operator', { alpha: status(401) }, {}],
    ['provider', 'closes the connection', { alpha: { kind: 'break' } }, {}],
    ['provider', 'breaks off its stream', { alpha: { kind: 'break', afterPieces: 2 } }, { stream: true }],
    ['provider', 'fails after another', { '*': status(500) }, { model: 'm/two' }],
    ['timeout', 'is silent', { quick: { kind: 'silence' } }, { model: 'm/quick' }],
    ['timeout', 'answers 408', { alpha: status(408) }, {}],
    [
      'timeout',
      'streams for longer than a request may take',
      { quick: { ...answer, pieceMs: 200 } },
      { model: 'm/quick', stream: true },
    ],
    ['rate_limit', 'is at its limit', { alpha: status(429) }, {}],
    [
      'rate_limit',
      'is the last of two, and at its limit',
      { alpha: status(500), beta: status(429) },
      { model: 'm/two' },
    ],
    ['request', 'rejects a parameter', { alpha: status(400) }, {}],
    ['request', 'cannot process the request', { alpha: status(422) }, {}],
    [
      'request',
      'has too small a context',
      { alpha: status(400, { message: 'maximum context length is 5 tokens' }) },
      {},
    ],
    ['request', 'refuses the content', { alpha: refused }, {}],
    [
      'cancelled',
      'works for a client that leaves',
      { alpha: { ...answer, delayMs: 10_000 } },
      { leavesOnceAsked: true },
    ],
    [
      'cancelled',
      'streams to a client that leaves',
      { alpha: { ...answer, pieceMs: 300 } },
      { stream: true, leaveWhen: afterFirst },
    ],
  ])('the class is `%s` if the provider %s', async (error, _, script, asked) => {
    for (const flow of ['compatibility', 'ticket'] as const) {
      const row = await rowOf(script, { ...asked, flow });
      expect(row, flow).toMatchObject({ error, status: error === 'cancelled' ? 'cancelled' : 'failed' });
      expect(row.provider).not.toBeNull();
    }
  });

  it.concurrent.each<[string, string | null, Script, Asked]>([
    ['401', '401', { alpha: status(401) }, {}],
    ['402', '402', { alpha: status(402) }, {}],
    ['404', '404', { alpha: status(404) }, {}],
    ['408', '408', { alpha: status(408) }, {}],
    ['429', '429', { alpha: status(429) }, {}],
    ['503', '5xx', { alpha: status(503) }, {}],
    [
      '500 after a refusal of the content by another',
      '5xx',
      { alpha: status(422), beta: status(500) },
      { model: 'm/two' },
    ],
    // These statuses, and any answer to a request that was refused, could describe its content.
    ['400', null, { alpha: status(400) }, {}],
    ['403', null, { alpha: status(403) }, {}],
    ['413', null, { alpha: status(413) }, {}],
    ['422', null, { alpha: status(422) }, {}],
    ['422 after a failure of another', null, { alpha: status(500), beta: status(422) }, { model: 'm/two' }],
    ['451', null, { alpha: status(451) }, {}],
    ['200, and breaks its stream off', null, { alpha: { kind: 'break', afterPieces: 2 } }, { stream: true }],
    ['nothing', null, { alpha: { kind: 'break' } }, {}],
    ['429, and then another the request', null, { alpha: status(429), beta: answer }, { model: 'm/two' }],
  ])('the row of a request whose last provider answers %s says %s', async (_, named, script, asked) => {
    for (const flow of ['compatibility', 'ticket'] as const)
      expect((await rowOf(script, { ...asked, flow })).provider_status, flow).toBe(named);
  });

  it('a request that completes has none, also after a fallback', async () => {
    expect(await rowOf({ alpha: answer }, {})).toMatchObject({ status: 'completed', error: null });
    const row = await rowOf({ alpha: status(429), beta: answer }, { model: 'm/two' });
    expect(row).toMatchObject({ status: 'completed', error: null, attempts: 2, provider: 'beta' });
  });

  const failed = (...attempts: readonly string[]) =>
    attempts.map((attempt) => ({ provider: attempt.split(' ')[0], error: attempt.split(' ')[1] }));
  const tries = (...order: readonly string[]): Asked => ({
    model: 'm/patient',
    body: { provider: { only: order, order } },
  });
  const twice = tries('alpha/eu', 'beta');
  it.concurrent.each<[string, Script, Asked, readonly string[], object]>([
    ['fails', { alpha: status(500), beta: answer }, twice, ['alpha/eu provider'], { status: 'completed' }],
    ['is at its limit', { alpha: status(429), beta: answer }, twice, ['alpha/eu rate_limit'], { provider: 'beta' }],
    [
      'is silent',
      { alpha: { kind: 'silence' }, beta: answer },
      { ...tries('alpha', 'beta'), model: 'm/two' },
      ['alpha timeout'],
      {},
    ],
    ['is not allowed', { alpha: status(403), beta: answer }, twice, ['alpha/eu provider'], { status: 'completed' }],
    ['cannot process it', { alpha: status(422), beta: answer }, twice, ['alpha/eu provider'], { status: 'completed' }],
    [
      'has an API that cannot express it',
      { beta: answer },
      { model: 'm/patient', body: { ...tries('narrow', 'beta').body, stop: ['a', 'b', 'c', 'd', 'e', 'f'] } },
      ['narrow provider'],
      { status: 'completed' },
    ],
    [
      'and the next refuse it',
      { alpha: status(422), beta: refused },
      twice,
      ['alpha/eu provider'],
      { error: 'request' },
    ],
    [
      'fails, and the client leaves the next',
      { alpha: status(500), beta: { ...answer, pieceMs: 300 } },
      { ...twice, stream: true, leaveWhen: afterFirst },
      ['alpha/eu provider'],
      { error: 'cancelled' },
    ],
    [
      'is the first of three that fail',
      { quick: status(429), alpha: status(408), beta: status(500) },
      tries('quick/eu', 'alpha/eu', 'beta'),
      ['quick/eu rate_limit', 'alpha/eu timeout'],
      { error: 'provider', provider: 'beta' },
    ],
    ['is the only one', { alpha: status(422) }, {}, [], { error: 'request' }],
  ])('the row names each attempt before the last, if a provider %s', async (_, script, asked, attempts, end) => {
    for (const flow of ['compatibility', 'ticket'] as const) {
      const row = await rowOf(script, { ...asked, flow });
      expect(row, flow).toMatchObject({
        ...end,
        attempts: attempts.length + 1,
        failed_attempts: failed(...attempts),
      });
    }
  });

  it('an answer after a refusal of content has the row of one after a failure', async () => {
    const rows = [];
    for (const code of [500, 422, 403]) rows.push(await rowOf({ alpha: status(code), beta: answer }, twice));
    const [one, ...others] = rows.map(({ id: _id, at: _at, key_id: _key, workspace_id: _workspace, ...row }) => row);
    for (const other of others) expect(other).toEqual(one);
  });

  it('a refusal of content and a wrong parameter have the same row', async () => {
    const rows = [await rowOf({ alpha: status(400) }, {}), await rowOf({ alpha: refused }, {})];
    const [one, other] = rows.map(({ id: _id, at: _at, key_id: _key, workspace_id: _workspace, ...row }) => row);
    expect(other).toEqual(one);
  });

  it('none of them leaves money held', async () => {
    if (stage.service.redisUrl !== undefined) await expectNothingHeld(stage.service.redisUrl);
  });

  it('what is refused before admission has no row', async () => {
    const { service } = stage;
    const [account, poor] = [await service.createAccount(), await service.createAccount({ usd: 0 })];
    expect((await asks(poor, { alpha: answer }, {})).status).toBe(402);
    for (const [flow, body, code] of [
      ['compatibility', { model: 'm/none', messages: [{ role: 'user', content: 'x' }] }, 404],
      ['compatibility', { model: 'm/one', messages: 'x' }, 400],
      [
        'compatibility',
        { model: 'm/one', messages: [{ role: 'user', content: 'x' }], provider: { only: ['nobody'] } },
        400,
      ],
    ] as const)
      expect((await ask(service, account.inferenceKey, body, { flow })).status).toBe(code);
    // Bookings are in order, so a row of theirs would be there before this one.
    await asks(account, { alpha: answer }, {});
    await until(async () => (await rowsOf(account)).length > 0, 'the last request has a row');
    expect(await rowsOf(account)).toHaveLength(1);
    expect(await rowsOf(poor)).toEqual([]);
  });

  it('rows are found by their end, class and provider, and pages go on within a filter', async () => {
    const account = await stage.service.createAccount();
    const scripts: Script[] = [
      { alpha: answer },
      { alpha: status(429), beta: status(500) },
      { alpha: status(429), beta: status(429) },
      { alpha: status(400) },
      { alpha: status(500), beta: answer },
    ];
    for (const script of scripts) await asks(account, script, { model: 'm/two' });
    await until(async () => (await rowsOf(account)).length === scripts.length, 'every request has a row');
    const count = async (query: string): Promise<number> => (await rowsOf(account, query)).length;
    expect(await count('?status=completed')).toBe(2);
    expect(await count('?status=failed')).toBe(3);
    expect(await count('?status=cancelled')).toBe(0);
    expect(await count('?error=rate_limit')).toBe(1);
    expect(await count('?error=request')).toBe(1);
    expect(await count('?error=provider&status=failed')).toBe(1);
    expect(await count('?error=provider&status=completed')).toBe(0);
    expect(await count('?provider=beta')).toBe(3);
    expect(await count('?provider=beta&status=failed')).toBe(2);
    expect(await count(`?from=${new Date(Date.now() - 3_600_000).toISOString()}`)).toBe(5);
    const { controlUrl } = stage.service;
    const pages: string[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const path = `${controlUrl}/usage?status=failed&limit=1${cursor === '' ? '' : `&cursor=${cursor}`}`;
      const page: UsagePage = usagePageSchema.parse((await get(path, bearer(account.managementKey))).json);
      pages.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor;
    }
    expect(pages).toEqual((await rowsOf(account, '?status=failed')).map(({ id }) => id));
    const csv = await get(`${controlUrl}/usage?format=csv&error=rate_limit`, bearer(account.managementKey));
    expect(csv.text.trimEnd().split('\r\n')).toHaveLength(2);
    expect(csv.text).toMatch(/,failed,false,rate_limit,429,alpha:rate_limit\r\n$/);
    for (const wrong of ['status=done', 'error=content', 'member_id=x', 'provider=%00']) {
      const answered = await get(`${controlUrl}/usage?${wrong}`, bearer(account.managementKey));
      expect(answered.status, wrong).toBe(400);
    }
    const daily = await get(`${controlUrl}/usage/daily`, bearer(account.managementKey));
    expect(usageDailyAnswerSchema.parse(daily.json).total).toMatchObject({ requests: 5, failed: 3 });
  });

  it('the time to the first token of streamed answers is counted for the day of the workspace, and in no row', async () => {
    const account = await stage.service.createAccount();
    for (const stream of [true, true, false])
      expect((await asks(account, { alpha: answer }, { stream })).status).toBe(200);
    expect((await asks(account, { alpha: status(500) }, { stream: true })).status).toBe(502);
    await until(async () => (await rowsOf(account)).length === 4, 'the ledger has booked them');
    for (const row of await rowsOf(account)) expect(Object.keys(row)).toEqual(fields);
    const sums = async (query: string) => {
      const { json } = await get(`${stage.service.controlUrl}/usage/daily${query}`, bearer(account.managementKey));
      return usageDailyAnswerSchema.parse(json).first_token;
    };
    const counted = await sums('?group_by=model');
    expect(counted?.answers.reduce((sum, count) => sum + count, 0)).toBe(2);
    expect(counted?.bounds_ms).toHaveLength((counted?.answers.length ?? 0) - 1);
    expect(await sums('?model=m/one')).toBeNull();
  });

  // Only here can a test put itself in the place of a broker.
  if (which === 'two') {
    it.each<[string, string, object, string | null, (readonly string[])?]>([
      ['does not know classes', 'failed', {}, null],
      ['does not say which attempts failed', 'completed', { attempts: 2, fallback: true }, null],
      [
        'names attempts that control does not understand',
        'completed',
        { attempts: 3, failedAttempts: [{ provider: 'no id:\u0000', error: 'timeout' }] },
        null,
      ],
      [
        'names more attempts than there were, of a class that control does not know',
        'completed',
        { attempts: 2, failedAttempts: Array(3).fill({ provider: 'alpha/eu', error: 'refused' }) },
        null,
        ['alpha/eu provider'],
      ],
      ['knows a class that control does not', 'failed', { error: 'weather' }, null],
      ['gives no class to what was cancelled', 'cancelled', {}, 'cancelled'],
      ['says that a completed request failed', 'completed', { error: 'provider' }, null],
      ['says that a failed request was cancelled', 'failed', { error: 'cancelled' }, null],
      ['names a class of first tokens that control does not know', 'completed', { firstToken: 8 }, null],
    ])('a charge of a broker that %s is booked', async (_, ended, more, error, attempts = []) => {
      const account = await stage.service.createAccount();
      const accountRef = sealAccountRef(accountRefKey, await ownerOf(stage.service, account));
      const settlement = { ...settlementOf({ accountRef, at: Date.now() }), status: ended, ...more } as ToldSettlement;
      const signed = signSettlement(settlementMacKey, settlement);
      const shard = await shardOf(stage.service, account);
      await withRedis(stage.service.redisUrl ?? '', (redis) => addSettlement(redis, shard, signed));
      await until(async () => (await rowsOf(account)).length === 1, 'it is booked');
      expect(await rowsOf(account)).toMatchObject([
        { status: ended, error, cost: 0.000001, failed_attempts: failed(...attempts) },
      ]);
      await expectBooked(stage.service, account, credited);
    });
  }
});
