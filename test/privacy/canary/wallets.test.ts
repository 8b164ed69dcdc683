import { createHash, hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import {
  freePort,
  noteSkip,
  redisSkipReason,
  startOwnRedis,
  startTestPostgres,
  type TestPostgres,
} from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BtcpayStandIn, btcpayEnvironment, btcpaySignature, startBtcpay } from '../../kit/btcpay-stand-in.ts';
import { filesOf, providerEntry, routeEntry, textModel } from '../../kit/catalog.ts';
import { bearer } from '../../kit/client.ts';
import { type Collector, startCollector } from '../../kit/collector.ts';
import { answerChat, type FakeProvider, startProvider } from '../../kit/provider.ts';
import { type RecordingProxy, startRecordingProxy } from '../../kit/recording-proxy.ts';
import { monitorRedis } from '../../kit/redis-wire.ts';
import { startRelay, type TestRelay } from '../../kit/relay.ts';
import { runSottoOverPlainRelay } from '../../kit/run-sotto.ts';
import { post } from '../../kit/send.ts';
import { type Service, startService } from '../../kit/service.ts';
import { letRest, makeCode, makeHome, makeIssuer, payingPerson, type TestIssuer } from '../../kit/wallets.ts';
import { disguises, found, searchable } from './disguises.ts';
import { listenToRedis, type RedisEar, readSinks } from './sinks.ts';

/**
 * What control saw at a withdrawal occurs in no log, metric or trace, and no record holds values of both sides: no row, no key and no
 * command of Redis, no statement to Postgres, no line. Control goes through all accounts again and again, for the state and the audit.
 * A record of that names bystanders, too, so it joins nothing.
 */
const redis = await startOwnRedis({ appendOnly: true });
if (redis === undefined) noteSkip('the canary of anonymous wallets', redisSkipReason);

/** Output tokens of the wallet's request, and of one of an ordinary account. No other number is like them. */
const tokens = { quiet: 712_359, told: 634_517 };
/** How often a sink has a number by itself, not as a part of another one or of a hash. */
const timesIn = (text: string, number: number): number =>
  text.match(new RegExp(`(?<![\\w.-])${number}(?![\\w.-])`, 'g'))?.length ?? 0;

type Values = Record<string, string[]>;
const encodings = (values: readonly Buffer[]): string[] =>
  values.flatMap((value) => [value.toString('base64url'), value.toString('hex'), value.toString('base64')]);

describe.skipIf(redis === undefined)('anonymous wallets, in every sink:', () => {
  let postgres: TestPostgres;
  let provider: FakeProvider;
  let issuer: TestIssuer;
  let relay: TestRelay;
  let btcpay: BtcpayStandIn;
  let collector: Collector;
  let service: Service;
  let ear: RedisEar;
  let monitor: { close(): void } | undefined;
  const wires: RecordingProxy[] = [];
  let metricsPort = 0;
  const withdrawal: Values = {};
  const wallet: Values = {};
  const bystanders: Values = {};
  const commands: string[] = [];
  /** The sinks after the withdrawal, and in the end. */
  let first: Record<string, string> = {};
  let all: Record<string, string> = {};

  const sinks = async (): Promise<Record<string, string>> => {
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    const packets = wires.map(({ heard }, at) => [`packets ${at}`, heard()] as const);
    return {
      ...(await readSinks(service, { ear, errors: [] })),
      metrics,
      traces: collector.heard(),
      ...Object.fromEntries(packets),
    };
  };

  beforeAll(async () => {
    const url = redis?.url ?? '';
    postgres = await startTestPostgres();
    [provider, issuer, relay, collector, btcpay] = await Promise.all([
      startProvider(),
      makeIssuer(),
      startRelay(),
      startCollector(),
      startBtcpay(),
    ]);
    const databaseUrl = await postgres.createDatabase();
    wires.push(await startRecordingProxy(url), await startRecordingProxy(databaseUrl));
    metricsPort = await freePort();
    ear = await listenToRedis(url);
    monitor = await monitorRedis(url, ({ words }) => commands.push(words.join(' ')));
    service = await startService({
      ...{ planes: 'two', databaseUrl, redisUrl: url },
      ...filesOf(
        [providerEntry('alpha', provider.baseUrl)],
        [textModel('m/one', [routeEntry('alpha')], { context_length: 1_000_000, max_output_tokens: 900_000 })],
      ),
      environment: {
        LOG_LEVEL: 'trace',
        ATTESTATION: 'simulated',
        BILLING_TEST_RAIL: 'on',
        TRACES_URL: collector.url,
        TRACES_RATIO: '1',
        METRICS_URL: collector.metricsUrl,
      },
      controlEnvironment: {
        ...issuer.environment,
        ...btcpayEnvironment(btcpay),
        ...{ REDIS_URL: wires[0]?.url ?? '', DATABASE_URL: wires[1]?.url ?? '', METRICS_PORT: String(metricsPort) },
      },
    });

    // Enough that each shard has one.
    await Promise.all(Array.from({ length: 60 }, () => service.createAccount({ usd: 1 })));
    const others = await service.pool.query<{ id: string; wallet_id: string }>('select id, wallet_id from accounts');
    bystanders.ids = others.rows.flatMap(({ id, wallet_id }) => [id, wallet_id]);
    const person = await payingPerson(service);
    const { home, purse } = await makeHome(issuer, 'canary');
    const reached = [
      '--control-url',
      service.controlUrl,
      '--relay',
      `socks5://127.0.0.1:${relay.port}`,
      '--pins',
      issuer.pins,
    ];
    const code = await makeCode(service, person.session);
    const bought = runSottoOverPlainRelay(['purse', 'buy', ...reached], { HOME: home });
    bought.child.stdin?.end(`${code}\n`);
    expect(await bought.ended, bought.err()).toBe(0);
    const { rows } = await service.pool.query<{ wallet_id: string; user_id: string; id: string }>(
      `select a.wallet_id, a.user_id, i.id from accounts a join credit_issuances i on i.account_id = a.id where a.id = $1`,
      [person.accountId],
    );
    Object.assign(withdrawal, {
      account: [person.accountId],
      user: [rows[0]?.user_id ?? ''],
      email: disguises(person.email),
      session: [/token=([^;.%]+)/.exec(person.session.cookie ?? '')?.[1] ?? ''],
      'wallet of the account': [rows[0]?.wallet_id ?? ''],
      code: [code, hash('sha256', code, 'base64url')],
      batch: [rows[0]?.id ?? ''],
    });
    first = await sinks();

    letRest(purse);
    const proxy = runSottoOverPlainRelay(
      ['proxy', '--anonymous', '--port', '0', '--base-url', service.baseUrl, '--allow-simulated', ...reached],
      { HOME: home },
    );
    const [, origin = '', token = ''] = await proxy.outMatches(/(http:\S+)\nAPI key: (\S+)\n/);
    const secretsOf = (): { readonly key: string; readonly close_secret: string } => {
      const database = new DatabaseSync(purse);
      const own = database.prepare('select key, close_secret from wallets').get();
      database.close();
      return own as ReturnType<typeof secretsOf>;
    };
    const own = secretsOf();
    const asked = { model: 'm/one', messages: [{ role: 'user', content: 'Hello' }] };
    provider.answer(answerChat({ completionTokens: tokens.quiet }));
    expect((await post(`${origin}/chat/completions`, asked, bearer(token))).status).toBe(200);
    provider.answer(answerChat({ completionTokens: tokens.told }));
    const ordinary = await service.createAccount({ usd: 10 });
    expect((await post(`${service.baseUrl}/chat/completions`, asked, bearer(ordinary.inferenceKey))).status).toBe(200);
    await service.settled(ordinary);
    proxy.child.kill('SIGINT');
    expect(await proxy.ended, proxy.err()).toBe(0);
    // Another wallet is paid by crypto.
    const paying = runSottoOverPlainRelay(['purse', 'pay', 'usd-10', ...reached], { HOME: home });
    await paying.outMatches(/lightning:/);
    const ordered = secretsOf();
    Object.assign(btcpay.invoices[0] ?? {}, { status: 'Settled', payments: ['Settled'] });
    const told = JSON.stringify(btcpay.delivery({ id: btcpay.invoices[0]?.id ?? '' }, 'InvoiceSettled'));
    const delivered = await post(`${service.controlUrl}/billing/webhooks/btcpay`, told, {
      'btcpay-sig': btcpaySignature(told),
    });
    expect(delivered.json).toMatchObject({ outcome: 'applied' });
    expect(await paying.ended, paying.err()).toBe(0);
    const made = await service.pool.query<Record<string, string | null>>(
      `select w.account_id, a.wallet_id, w.key_id, w.deposit_digest, w.closed_by, s.id as workspace_id
       from wallets w join accounts a on a.id = w.account_id join workspaces s on s.account_id = a.id`,
    );
    expect(made.rows).toHaveLength(2);
    const spent = await service.pool.query<{ nonce: Buffer }>('select nonce from spent_credits');
    expect(spent.rows).toHaveLength(50);
    Object.assign(wallet, {
      key: [own.key, hash('sha256', own.key, 'base64url'), createHash('sha256').update(own.key).digest('hex')],
      'close secret': [own.close_secret, hash('sha256', own.close_secret, 'base64url')],
      'paid key': [ordered.key, hash('sha256', ordered.key, 'base64url')],
      'paid close secret': [ordered.close_secret, hash('sha256', ordered.close_secret, 'base64url')],
      ids: made.rows.flatMap((row) => Object.values(row)).filter((id) => id !== null),
      nonces: encodings(spent.rows.map(({ nonce }) => nonce)),
    });
    all = await sinks();
  });
  afterAll(async () => {
    ear?.close();
    monitor?.close();
    await service?.stop();
    await Promise.all([
      provider?.stop(),
      issuer?.stop(),
      relay?.stop(),
      collector?.stop(),
      postgres?.stop(),
      btcpay?.server.stop(),
    ]);
    for (const wire of wires) wire.close();
    await redis?.stop();
  });

  /** Records that hold values of both sides, and of nobody else. */
  const joins = (records: readonly string[]): string[] =>
    records.filter(
      (record) =>
        [withdrawal, wallet].every((side) => found(record, side).length > 0) && found(record, bystanders).length === 0,
    );

  it('the search knows the values of both sides, and finds them where control must have them', () => {
    const everything = { ...withdrawal, ...wallet };
    expect(
      Object.values(everything)
        .flat()
        .filter((value) => value.length < 8),
    ).toEqual([]);
    const namesIn = (sink: string): string[] => found(sink, everything).map((each) => each.split(':')[0] ?? '');
    const inPostgres = ['account', 'user', 'wallet of the account', 'batch', 'key', 'close secret', 'ids', 'nonces'];
    inPostgres.push('paid key', 'paid close secret');
    expect(namesIn(all.postgres ?? '')).toEqual(expect.arrayContaining(inPostgres));
    expect(namesIn(all.redis ?? '')).toEqual(expect.arrayContaining(['wallet of the account', 'key', 'ids']));
  });

  it('nothing of the wallet occurs before it was made', () => {
    for (const [name, sink] of Object.entries(first)) expect(found(searchable(sink), wallet), name).toEqual([]);
  });

  it('nothing of the withdrawal occurs in logs, metrics and traces, then or later', () => {
    for (const name of ['controlLog', 'brokerLog', 'metrics', 'traces'] as const) {
      expect(all[name]?.length, name).toBeGreaterThan(100);
      expect(found(searchable(all[name] ?? ''), { ...withdrawal, ...wallet }), name).toEqual([]);
    }
  });

  // A quiet settlement passes the broker's log and metrics, a script of Redis and its stream, control's log, and Postgres. One that still had
  // its counts in one of them would link a request to the one before it.
  it('counts of a quiet request occur nowhere; those of an ordinary one are found', async () => {
    const everything: Record<string, string> = { ...all, commands: commands.join('\n') };
    for (const [name, sink] of Object.entries(everything)) expect(timesIn(sink, tokens.quiet), name).toBe(0);
    for (const name of ['postgres', 'redis', 'commands'] as const)
      expect(timesIn(everything[name] ?? '', tokens.told), name).toBeGreaterThan(0);
    const settled = commands
      .flatMap((words) => words.match(/\{"v":\d,"id":"[^}]*\}/g) ?? [])
      .map((text) => JSON.parse(text));
    expect(Object.keys(settled.find(({ v }) => v === 2)).sort()).toEqual([
      'accountRef',
      'at',
      'chargeNusd',
      'id',
      'kind',
      'month',
      'v',
    ]);
    expect(settled.find(({ v }) => v === 1)).toMatchObject({ completionTokens: tokens.told });
    // Its redeem names the class of its hold and of its tokens. A bound of the exact hold would tell the length of the prompt.
    const redeems = commands.flatMap((words) => / ticket \S+ \S* \S+ (\d+) (\d+) (\d+) /.exec(words)?.slice(1) ?? []);
    expect(redeems.map(Number).map((told) => Math.log2(told / 50_000_000) % 1)).toEqual([0, expect.anything(), 0]);
    expect(redeems[1]).toBe('4096');
    const { rows } = await service.pool.query<{ told: object }>(
      'select jsonb_strip_nulls(to_jsonb(u)) as told from usage u join wallets w on w.account_id = u.account_id',
    );
    expect(rows.map(({ told }) => Object.keys(told).sort())).toEqual([
      ['account_id', 'at', 'cost_nusd', 'id', 'key_id', 'workspace_id'],
    ]);
  });

  /** Postgres ends a statement with `Sync`, and an answer with `ReadyForQuery`. Other records are lines. */
  const statementsIn = (sent: string): string[] => sent.split('S\0\0\0\u0004');
  const recordsIn = (name: string, sink: string): string[] =>
    name === 'packets 1' ? statementsIn(sink).flatMap((part) => part.split('Z\0\0\0\u0005')) : sink.split('\n');

  /** The messages of Postgres: a letter, the length of what follows with itself, and the content. Each row is one. */
  const messagesIn = (received: string): string[] => {
    const bytes = Buffer.from(received, 'latin1');
    const messages: string[] = [];
    for (let at = 0; at + 5 <= bytes.length; ) {
      const end = at + 1 + bytes.readUInt32BE(at + 1);
      messages.push(bytes.toString('latin1', at, end));
      at = end;
    }
    return messages;
  };

  it('no record holds values of both', () => {
    // A row that links both is found even in an answer that names bystanders.
    const rows = (wires[1]?.received() ?? []).flatMap(messagesIn).filter((message) => message.startsWith('D'));
    expect(rows.filter((row) => found(row, wallet).length > 0).length).toBeGreaterThan(5);
    expect(joins(rows)).toEqual([]);
    const statements = (wires[1]?.sent() ?? []).flatMap(statementsIn);
    expect(statements.filter((sent) => found(sent, wallet).length > 0).length).toBeGreaterThan(5);
    expect(commands.filter((words) => found(words, wallet).length > 0).length).toBeGreaterThan(5);
    expect(joins(statements)).toEqual([]);
    expect(joins(commands)).toEqual([]);
    for (const name of Object.keys(all)) expect(joins(recordsIn(name, all[name] ?? '')), name).toEqual([]);
  });

  it('a planted link is found, in each of them', async () => {
    const { pool } = service;
    const accountId = withdrawal.account?.[0] ?? '';
    await pool.query('update wallets set deposit_digest = $1', [accountId]);
    const cells = `D....${accountId} ${wallet.key?.[1]}`;
    const planted = Buffer.from(cells, 'latin1');
    planted.writeUInt32BE(planted.length - 1, 1);
    const answer = `${planted.toString('latin1')}Z\0\0\0\u0005I`;
    expect(joins(messagesIn(answer))).toHaveLength(1);
    await pool.query('update usage set completion_tokens = $1 where model is null', [tokens.quiet]);
    all = await sinks();
    expect(timesIn(all.postgres ?? '', tokens.quiet)).toBeGreaterThan(0);
    expect(joins((all.postgres ?? '').split('\n'))).toHaveLength(2);
    const line = `{"msg":"deposit","account":"${accountId}","key":"${wallet.key?.[1]}"}`;
    expect(joins([line])).toEqual([line]);
    expect(joins(['nothing', `SET a ${accountId} ${wallet.nonces?.[0]}`])).toHaveLength(1);
  });
});
