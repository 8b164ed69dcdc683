import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, noteSkip, type OwnRedis, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { usageOf } from '../../kit/books.ts';
import { ask } from '../../kit/client.ts';
import { type Collector, startCollector } from '../../kit/collector.ts';
import { type Mailbox, openMailbox } from '../../kit/mailbox.ts';
import {
  findPackagedPostgres,
  type PackagedPostgres,
  packagedPostgresSkipReason,
  startPackagedPostgres,
} from '../../kit/packaged-postgres.ts';
import { type Act, scripted } from '../../kit/scripted-provider.ts';
import { type Service, type ServiceOptions, startService } from '../../kit/service.ts';
import { StageProviders } from '../../kit/stage/providers.ts';
import { scriptedModel } from '../../kit/stage/scripted-model.ts';
import { newVisitor, type Visitor } from '../../kit/visitor.ts';
import { type Receiver, startReceiver } from '../../kit/webhook-receiver.ts';

export const what = 'the day of an operator';

/** A company's deployment with what receives its mails, webhooks and traces, and three people. */
export interface Day {
  readonly service: Service;
  readonly options: ServiceOptions;
  readonly postgres: PackagedPostgres;
  readonly mailbox: Mailbox;
  readonly receiver: Receiver;
  readonly collector: Collector;
  readonly brokerMetricsUrl: string;
  /** The operator. Each of her requests is a step. */
  readonly ann: Visitor;
  /** The operator's browser that looks again until something is there, which is no step. */
  readonly look: Visitor;
  readonly ben: Visitor;
  readonly eve: Visitor;
}

let steps = 0;
let skipped = packagedPostgresSkipReason;

/** Counts an act of the operator. */
export function step<Result>(act: () => Result): Result {
  steps += 1;
  return act();
}

/** The next task of the day, and the number of steps that it takes the operator. Every task needs the ones before. */
export const task = (name: string, expectedSteps: number, run: () => Promise<void>): void =>
  it(`${name}: ${expectedSteps} ${expectedSteps === 1 ? 'step' : 'steps'}`, async (context) => {
    if (skipped !== '') return context.skip(skipped);
    skipped = `${name}: it failed`;
    steps = 0;
    await run();
    expect(steps).toBe(expectedSteps);
    skipped = '';
  });

const counting = (visitor: Visitor): Visitor => ({
  cookies: visitor.cookies,
  get: (...asked) => step(() => visitor.get(...asked)),
  post: (...asked) => step(() => visitor.post(...asked)),
  send: (...asked) => step(() => visitor.send(...asked)),
});

/** A Redis that writes to disk. Undefined without one. */
export async function keptRedis(stops: (() => Promise<unknown>)[]): Promise<OwnRedis | undefined> {
  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) skipped = redisSkipReason;
  else stops.push(() => redis.stop());
  return redis;
}

/** Starts the deployment. Undefined if this machine has no Postgres or Redis for it. */
export async function startDay(folder: string, stops: (() => Promise<unknown>)[]): Promise<Day | undefined> {
  const bin = await findPackagedPostgres();
  const redis = bin === undefined ? undefined : await keptRedis(stops);
  if (bin === undefined || redis === undefined) {
    noteSkip(what, skipped);
    return undefined;
  }
  const [postgres, mailbox] = [await startPackagedPostgres(bin), await openMailbox()];
  const [receiver, collector] = [await startReceiver(), await startCollector()];
  const providers = await StageProviders.start(scriptedModel({ servers: { alpha: 'scripted', beta: 'scripted' } }));
  for (const server of [postgres, mailbox, receiver, collector, providers]) stops.push(() => server.stop());
  const caFile = join(folder, 'ca.pem');
  await writeFile(caFile, receiver.caPem);
  const metrics = { control: String(await freePort()), broker: String(await freePort()) };
  const options: ServiceOptions = {
    planes: 'two',
    databaseUrl: await postgres.createDatabase('sotto'),
    redisUrl: redis.url,
    ...providers.files,
    environment: {
      SIGN_UP: 'invited',
      SMTP_URL: mailbox.url,
      MAIL_FROM: 'Sotto <sotto@company.example>',
      BILLING_TEST_RAIL: 'on',
      TRACES_URL: collector.url,
      TRACES_RATIO: '1',
    },
    controlEnvironment: {
      ...{ WEBHOOK_NETWORKS: '127.0.0.1', NODE_EXTRA_CA_CERTS: caFile },
      METRICS_PORT: metrics.control,
    },
    brokerEnvironment: { METRICS_PORT: metrics.broker },
  };
  const service = await startService(options);
  stops.push(() => service.stop());
  const visitor = () => newVisitor(new URL(service.controlUrl).origin);
  const look = visitor();
  skipped = '';
  return {
    ...{ service, options, postgres, mailbox, receiver, collector },
    brokerMetricsUrl: `http://127.0.0.1:${metrics.broker}/metrics`,
    ...{ look, ann: counting(look), ben: visitor(), eve: visitor() },
  };
}

const answering: Act = { kind: 'answer', usage: usageOf(7, 5) };
/** What each answered request costs. */
export const costNusd = 7n * 1000n + 5n * 3000n;
let asked = 0;

/** Sends a chat that every provider answers, unless the script says otherwise. */
export const askFor = (
  service: Service,
  key: string,
  flow: 'compatibility' | 'ticket',
  script: Readonly<Record<string, Act>> = {},
): Promise<Answer> => {
  const content = scripted({ '*': answering, ...script }, `${asked++}`);
  return ask(
    service,
    key,
    { model: 'm/one', messages: [{ role: 'user', content }], max_completion_tokens: 100 },
    { flow },
  );
};
