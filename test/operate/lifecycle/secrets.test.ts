import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { expectFair, startLoad } from '../../faults/chaos/load.ts';
import { call } from '../../kit/call.ts';
import { scripted } from '../../kit/scripted-provider.ts';
import { operatorAccount, usageOf } from '../../money/world.ts';
import { type BalancedStage, roll, setBalancedStage } from './balanced.ts';

let stage: BalancedStage | undefined;

beforeAll(async () => {
  stage = await setBalancedStage('secrets that are exchanged under load');
});
afterAll(async () => {
  await stage?.stop();
});

/** Control refreshes what it has projected every two seconds, a page at a time; here all is one page. */
const refreshedMs = 6000;
const shared = ['TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY'] as const;
const ofControl = [...shared, 'ACCOUNT_REF_KEY', 'SESSION_SECRET'] as const;
type Secret = (typeof ofControl)[number];

it('every secret is exchanged in three rounds under load, and nobody notices', async (context) => {
  if (stage === undefined) return context.skip('no Redis, or no HAProxy');
  const { service, account, brokers, controls } = stage;
  const { secrets } = service;
  const next = Object.fromEntries(ofControl.map((name) => [name, randomBytes(32).toString('base64')])) as Record<
    Secret,
    string
  >;
  const round = async (changesOf: (name: Secret) => Record<string, string | undefined>): Promise<void> => {
    const changes = (names: readonly Secret[]) => Object.assign({}, ...names.map(changesOf));
    expect(await roll(brokers, { changes: changes(shared) })).toEqual([0, 0]);
    expect(await roll(controls, { changes: changes(ofControl) })).toEqual([0, 0]);
  };
  const cookie = await signedIn();
  const load = startLoad(stage, { everyMs: 40 });
  await load.reach(10);

  // The next one is believed, and not used yet.
  await round((name) => ({ [`OTHER_${name}`]: next[name] }));
  const early = await Promise.all(
    Array.from({ length: 10 }, () => service.mintTicket(account.inferenceKey, { model: 'm/one' })),
  );
  // It is used, and the former is believed.
  await round((name) => ({ [name]: next[name], [`OTHER_${name}`]: secrets[name] }));
  for (const [index, { ticket }] of early.entries()) {
    const act = { kind: 'answer', usage: usageOf(7, 40 + index) } as const;
    const messages = [{ role: 'user', content: scripted({ '*': act }, `early ${index}`) }];
    const body = { model: 'm/one', messages, max_completion_tokens: 100 };
    const answered = await call(`${service.baseUrl}/chat/completions`, { 'x-router-ticket': ticket }, body);
    expect(answered.status, answered.text).toBe(200);
  }
  expect(await statusOf(cookie)).toBe(200);
  await pause(refreshedMs);
  // The former is forgotten.
  await round((name) => ({ [`OTHER_${name}`]: undefined }));
  expect(await statusOf(cookie)).toBe(401);
  await load.reach(load.begun + 20);
  const sent = await load.stop();

  expect(
    sent
      .filter(({ called }) => !called.complete)
      .map(({ index, called }) => `${index}: ${called.status} ${called.text.slice(-200)}`),
  ).toEqual([]);
  await expectFair(stage, sent);
  const { rows } = await service.pool.query('select count(*)::int as count from rejected_settlements');
  expect(rows).toEqual([{ count: 0 }]);
  expect(await operatorAccount(service, 'suspense')).toBe(0n);
  await service.settled(account);
  expect(await service.runControl(['audit'])).toMatchObject({ code: 0 });
}, 360_000);

async function signedIn(): Promise<string> {
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${stage?.service.controlUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const person = { email: 'ann@people.example', password: 'correct horse battery' };
  expect((await post('/auth/sign-up/email', { name: 'Ann', ...person })).status).toBe(200);
  const answer = await post('/auth/sign-in/email', person);
  expect(answer.status).toBe(200);
  return answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
}

const statusOf = async (cookie: string): Promise<number> =>
  (await fetch(`${stage?.service.controlUrl}/keys`, { headers: { cookie } })).status;
