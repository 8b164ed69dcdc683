import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ollamaAnswers } from '@sotto/discovery/testing';
import {
  freePort,
  noteSkip,
  openTestPool,
  redisSkipReason,
  startOwnRedis,
  startTestPostgres,
  type TestPostgres,
  until,
} from '@sotto/test-servers';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, allOf } from '../../kit/answer.ts';
import { bearer } from '../../kit/client.ts';
import { type ModelServerStandIn, startModelServer } from '../../kit/model-server.ts';
import { endAll, npmStart, type StartedByNpm } from '../../kit/npm-start.ts';
import { post } from '../../kit/send.ts';
import { flows } from './content.suite.ts';
import { disguises, found, hashes, searchable } from './disguises.ts';
import { expectNoContent } from './expect-no-content.ts';
import { content, formsOf, fullBody, idsIn } from './markers.ts';
import { listenToRedis, type RedisEar, readSinks, type Sinks } from './sinks.ts';

const redis = await startOwnRedis();
if (redis === undefined) noteSkip('the canary of local models', redisSkipReason);

const model = 'ollama/qwen3-8b';
/** The model sees no images, and takes no parameters of another provider. */
const body = fullBody({
  model,
  alpha_parameters: undefined,
  messages: (fullBody().messages as object[]).with(-1, { role: 'user', content: content.Prompt }),
});

describe.skipIf(redis === undefined)('with a model server that `npm start` found on this machine,', () => {
  let folder: string;
  let postgres: TestPostgres;
  let pool: pg.Pool;
  let ear: RedisEar;
  let ollama: ModelServerStandIn;
  let started: StartedByNpm;
  const answers: Answer[] = [];
  const tickets: string[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sotto-canary-local-'));
    await chmod(folder, 0o755);
    postgres = await startTestPostgres();
    const databaseUrl = await postgres.createDatabase();
    pool = openTestPool(databaseUrl);
    ear = await listenToRedis(redis?.url ?? '');
    ollama = await startModelServer(ollamaAnswers);
    started = await npmStart(folder, {
      CONTROL_PORT: String(await freePort()),
      CONFIDENTIAL_PORT: String(await freePort()),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis?.url ?? '',
      LOCAL_MODELS: ollama.origin,
      LOG_LEVEL: 'trace',
      LOG_FORMAT: 'json',
    });
  });
  afterAll(async () => {
    await endAll();
    await ollama?.stop();
    ear?.close();
    await pool?.end();
    await postgres?.stop();
    await redis?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  const sinks = (): Promise<Sinks> =>
    readSinks({ logs: () => started.output(), pool, redisUrl: redis?.url }, { ear, errors: answers.map(allOf) });

  /** Asks as a client whose headers have markers, too. */
  async function ask(flow: (typeof flows)[number], more: object = {}): Promise<Answer> {
    const { control_url: controlUrl, base_url: baseUrl, inference_key: key } = started.quickstart;
    const headers = { 'user-agent': content.UserAgent, 'x-title': content.Header, cookie: content.Header };
    let credential = bearer(key);
    if (flow === 'ticket') {
      const minted = await post(`${controlUrl}/inference/tickets`, { model }, bearer(key));
      const { ticket } = JSON.parse(minted.text) as { ticket: string };
      tickets.push(ticket);
      credential = { 'x-router-ticket': ticket };
    }
    const called = await post(`${baseUrl}/chat/completions`, { ...body, ...more }, { ...headers, ...credential });
    answers.push(called);
    return called;
  }

  it.each(flows)('no sink holds content after its answers (%s)', async (flow) => {
    for (const more of [{}, { stream: true }]) {
      const { complete, text } = await ask(flow, more);
      expect(complete, text).toBe(true);
      expect(text).toContain(`Locally: ${content.Prompt}`);
    }
    const booked = async (): Promise<number> => (await pool.query('select 1 from settlements')).rowCount ?? 0;
    await until(async () => (await booked()) >= answers.length, 'all is booked');
    await expectNoContent({ sinks });
  });

  it('it is asked for its models in the same words after users have used it as before', async () => {
    const looks = (): readonly string[] => ollama.heard.filter((request) => !request.includes('/chat/completions'));
    const before = looks();
    expect(before.length).toBeGreaterThan(3);
    const [, pid] = /To look for local models again: kill -HUP (\d+)/.exec(started.output()) ?? [];
    process.kill(Number(pid), 'SIGHUP');
    await until(() => looks().length === 2 * before.length, 'it was asked again');
    expect(looks().slice(before.length).sort()).toEqual([...before].sort());
  });

  it('it learns nothing of who asks, and control nothing of where it is', async () => {
    const { inference_key: key, management_key: managementKey, email } = started.quickstart;
    const heard = searchable(ollama.heard.join('\n'));
    // The search has data: the content is there.
    expect(found(heard, formsOf({ Prompt: content.Prompt, ToolResult: content.ToolResult }))).toHaveLength(2);
    expect(tickets).toHaveLength(2);
    const ids = await idsIn(pool);
    expect(Object.keys(ids).length).toBeGreaterThan(3);
    const secrets = [key, managementKey, ...tickets];
    const { UserAgent, Header, UnknownField } = content;
    const identity = {
      ...ids,
      email: disguises(email),
      ...Object.fromEntries(secrets.map((secret) => [secret, [...disguises(secret.slice(10, 60)), ...hashes(secret)]])),
      ...Object.fromEntries(
        answers.map(({ headers }) => [headers.get('x-request-id'), [String(headers.get('x-request-id'))]]),
      ),
      ...formsOf({ UserAgent, Header, UnknownField }),
    };
    expect(found(heard, identity)).toEqual([]);

    const { controlLog, postgres: rows, redis: stored } = await sinks();
    const { host } = new URL(ollama.origin);
    for (const sink of [controlLog, rows, stored]) {
      expect(sink.length).toBeGreaterThan(500);
      expect(found(sink, { host: disguises(host) })).toEqual([]);
    }
    // Control knows its models, as it must to offer them.
    expect(found(rows, { model: [model] })).toHaveLength(1);
  });

  it.each(flows)('no sink holds content after it has gone (%s)', async (flow) => {
    await ollama.stop();
    for (const more of [{}, { stream: true }]) expect((await ask(flow, more)).status).toBe(502);
    await expectNoContent({ sinks });
  });
});
