/** The canaries need more than a service: every connection of its processes passes a recording proxy, and every sink can be read. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, type OwnRedis, startTestPostgres } from '@sotto/test-servers';
import { type Answer, allOf } from '../../kit/answer.ts';
import { type Asked, ask, type Flow, mint } from '../../kit/client.ts';
import { startCollector } from '../../kit/collector.ts';
import { type Mailbox, openMailbox } from '../../kit/mailbox.ts';
import { answerChat, type FakeProvider, type ProviderHandler } from '../../kit/provider.ts';
import { type RecordingProxy, startRecordingProxy } from '../../kit/recording-proxy.ts';
import { post, type SendOptions } from '../../kit/send.ts';
import { type Service, startService, type TestAccount, until } from '../../kit/service.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';
import { type Receiver, startReceiver } from '../../kit/webhook-receiver.ts';
import { media, type mediaPaths } from './markers.ts';
import { listenToRedis, readAppendOnlyFile, readRedis, readSinks, type Sinks } from './sinks.ts';

/** The connections on which content or secrets could leak, each recorded byte for byte. */
const wireNames = ['broker to Redis', 'control to Redis', 'control to Postgres', 'control to the broker'] as const;
type WireName = (typeof wireNames)[number];

const timeouts = { connect_ms: 500, first_byte_ms: 300, idle_ms: 400, total_ms: 1500 };
const capabilities = {
  tools: true,
  vision: true,
  structured_output: true,
  reasoning: { efforts: ['low'], can_disable: true },
};
const [alpha, beta] = [
  { alpha: { pricing: [1, 2], capabilities } },
  { beta: { pricing: [1, 2], capabilities } },
] as const;

const spec: StageSpec = {
  // The last provider is reached as one in a private network is.
  providers: { alpha: { timeouts }, beta: { timeouts, insecure_http: true } },
  models: {
    'm/one': { routes: alpha },
    'm/near': { routes: beta },
    'm/two': { routes: { ...alpha, ...beta } },
    'm/embed': { type: 'embedding', context_length: 8000, routes: alpha },
    'm/paint': { type: 'image', routes: { alpha: { pricing: { image: 0.01 }, capabilities } } },
    'm/voice': { type: 'tts', routes: { alpha: { pricing: { input_characters: 10 }, capabilities } } },
  },
  limits: { context_length: 30_000, max_output_tokens: 500 },
  answers: () => answerChat(),
};

/** Two processes with all their sinks, and the requests that were sent to them. */
export interface CanaryStage {
  readonly service: Service;
  readonly redis: OwnRedis;
  readonly provider: FakeProvider;
  readonly second: FakeProvider;
  readonly mailbox: Mailbox;
  readonly receiver: Receiver;
  readonly account: TestAccount;
  /** An account with almost no money. */
  readonly pauper: TestAccount;
  /** An account that is limited to one request a minute. */
  readonly limited: TestAccount;
  readonly wires: Readonly<Record<WireName, RecordingProxy>>;
  /** Every minted ticket. `answers` holds every answer that arrived. */
  readonly tickets: readonly string[];
  readonly answers: readonly Answer[];
  /** Other credentials that were handed out, under their names. */
  readonly secrets: Map<string, string>;
  /** Replaces the handler of both providers. */
  onAll(handler: ProviderHandler): void;
  /** Records the answer. */
  keep(calling: Promise<Answer>): Promise<Answer>;
  /** Like `ask`, but records the ticket and the answer. */
  ask(flow: Flow, body: { readonly model: string } & Record<string, unknown>, options?: Asked): Promise<Answer>;
  /** Asks for an image or for speech, with a ticket bought for it. */
  askMedia(path: (typeof mediaPaths)[number], options?: SendOptions): Promise<Answer>;
  /** Buys a ticket. Resolves to undefined if it is refused. */
  buy(request: object): Promise<string | undefined>;
  /** The sinks that can be read at any time. */
  sinks(): Promise<Sinks>;
  /** Every key and value that is in Redis now. */
  stored(): Promise<string>;
  /** Every sink, under its name. */
  allSinks(): Promise<Readonly<Record<string, string>>>;
  /** Makes a process write a text to its stdout. */
  leak(from: 'control' | 'broker', text: string): Promise<void>;
  stop(): Promise<void>;
}

/** A getter, because the stage exists only within tests and hooks. */
export type StageOf = () => CanaryStage;

export async function openStage(redis: OwnRedis): Promise<CanaryStage> {
  const postgres = await startTestPostgres();
  const [providers, mailbox, receiver] = await Promise.all([
    StageProviders.start(spec),
    openMailbox(),
    startReceiver(),
  ]);
  const [provider, second] = [providers.provider('alpha'), providers.provider('beta')];
  const folder = await mkdtemp(join(tmpdir(), 'sotto-canary-'));
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, receiver.caPem);
  const databaseUrl = await postgres.createDatabase();
  const brokerPort = await freePort();
  const wires: Record<WireName, RecordingProxy> = {
    'broker to Redis': await startRecordingProxy(redis.url),
    'control to Redis': await startRecordingProxy(redis.url),
    'control to Postgres': await startRecordingProxy(databaseUrl),
    'control to the broker': await startRecordingProxy(`http://127.0.0.1:${brokerPort}`),
  };
  const leaks = { control: join(folder, 'control-leak'), broker: join(folder, 'broker-leak') };
  const collector = await startCollector();
  const traces = { TRACES_URL: collector.url, TRACES_RATIO: '1', METRICS_URL: collector.metricsUrl };
  const metricsPorts = { control: await freePort(), broker: await freePort() };
  const ear = await listenToRedis(redis.url);
  const service = await startService({
    planes: 'two',
    databaseUrl,
    redisUrl: redis.url,
    ...providers.files,
    environment: { LOG_LEVEL: 'trace', IMAGE_GENERATION: 'on', SPEECH_SYNTHESIS: 'on', ...traces },
    brokerEnvironment: {
      REDIS_URL: wires['broker to Redis'].url,
      METRICS_PORT: String(metricsPorts.broker),
      PLANTED_LEAK: leaks.broker,
    },
    controlEnvironment: {
      REDIS_URL: wires['control to Redis'].url,
      DATABASE_URL: wires['control to Postgres'].url,
      CONFIDENTIAL_ORIGIN: wires['control to the broker'].url,
      CONNECTED_APPS: 'on',
      TRUST_PROXY: '127.0.0.1',
      METRICS_PORT: String(metricsPorts.control),
      SMTP_URL: mailbox.url,
      MAIL_FROM: 'no-reply@sotto.example',
      WEBHOOK_NETWORKS: '127.0.0.1',
      NODE_EXTRA_CA_CERTS: caFile,
      PLANTED_LEAK: leaks.control,
    },
    nodeFlags: [`--import=${fileURLToPath(new URL('leak-on-signal.ts', import.meta.url))}`],
    brokerPort,
  });
  const [account, pauper, limited] = await Promise.all([
    service.createAccount(),
    service.createAccount({ usd: 0.0000001 }),
    service.createAccount(),
  ]);
  await limitRequests(service, limited);

  const tickets: string[] = [];
  const answers: Answer[] = [];
  const keep: CanaryStage['keep'] = async (calling) => {
    const called = await calling;
    answers.push(called);
    return called;
  };
  const buy: CanaryStage['buy'] = async (request) => {
    const minted = await mint(service, account.inferenceKey, request);
    if (minted.status !== 200) {
      answers.push(minted);
      return undefined;
    }
    const { ticket } = JSON.parse(minted.text) as { ticket: string };
    tickets.push(ticket);
    return ticket;
  };
  const bought = async (request: object): Promise<{ 'x-router-ticket': string }> => {
    const ticket = await buy(request);
    if (ticket === undefined) throw new Error('no ticket');
    return { 'x-router-ticket': ticket };
  };
  const sinks = (): Promise<Sinks> =>
    readSinks(service, {
      ear,
      errors: answers.map((answer) =>
        answer.status !== 200 || !answer.complete ? allOf(answer) : JSON.stringify([...answer.headers]),
      ),
    });
  return {
    service,
    redis,
    provider,
    second,
    mailbox,
    receiver,
    account,
    pauper,
    limited,
    wires,
    tickets,
    answers,
    secrets: new Map(),
    onAll(handler) {
      provider.answer(handler);
      second.answer(handler);
    },
    keep,
    async ask(flow, body, options = {}) {
      if (flow === 'compatibility') return keep(ask(service, account.inferenceKey, body, { flow, ...options }));
      const url = `${service.baseUrl}${options.path ?? '/chat/completions'}`;
      return keep(post(url, body, await bought({ model: body.model }), options));
    },
    async askMedia(path, options = {}) {
      const body = media[path];
      const length = 'input' in body ? { input_chars: body.input.length } : {};
      const ticket = await bought({ model: body.model, ...length });
      return keep(post(`${service.baseUrl}${path}`, body, ticket, options));
    },
    buy,
    sinks,
    stored: () => readRedis(redis.url),
    async allSinks() {
      const { errors, ...base } = await sinks();
      const metrics = await Promise.all(
        Object.values(metricsPorts).map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
      );
      return {
        ...base,
        metrics: metrics.join('\n'),
        traces: collector.heard(),
        'the append-only file': await readAppendOnlyFile(redis.url),
        ...Object.fromEntries(wireNames.map((name) => [name, wires[name].heard()])),
      };
    },
    async leak(from, text) {
      const name = from === 'control' ? 'control' : 'confidential';
      const id = randomBytes(8).toString('hex');
      await writeFile(leaks[from], JSON.stringify({ process: name, id, text }));
      process.kill(service[from].pid, 'SIGUSR2');
      await until(() => service.logs().includes(id), 'the leak is in the log');
    },
    async stop() {
      ear.close();
      await service.stop();
      for (const wire of Object.values(wires)) wire.close();
      await Promise.all([providers.stop(), mailbox.stop(), receiver.stop(), collector.stop()]);
      await postgres.stop();
      await rm(folder, { recursive: true });
    },
  };
}

async function limitRequests({ pool }: Service, { accountId }: TestAccount): Promise<void> {
  await pool.query('update api_keys set limit_requests = 1, generation = generation + 1 where account_id = $1', [
    accountId,
  ]);
  await until(async () => {
    const { rowCount } = await pool.query('select 1 from api_keys where projected_generation < generation');
    return rowCount === 0;
  }, 'the limit is projected');
}
