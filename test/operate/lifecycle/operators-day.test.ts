import { providerListAnswerSchema } from '@sotto/contract/control/operator';
import { orderAnswerSchema } from '@sotto/contract/control/orders';
import { noteSkip, type OwnRedis, redisSkipReason, startOwnRedis, until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../../kit/answer.ts';
import { showEarlierCode, totpCode } from '../../kit/authenticator.ts';
import { usageOf, usageRows } from '../../kit/books.ts';
import { ask } from '../../kit/client.ts';
import { useFolder } from '../../kit/folder.ts';
import { type Mailbox, openMailbox } from '../../kit/mailbox.ts';
import {
  backupGuide,
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
import { secretRounds } from './secret-rounds.ts';

/** A company's deployment, and its two people. Each test is the next hour of the same day. */
interface Day {
  readonly service: Service;
  readonly options: ServiceOptions;
  readonly postgres: PackagedPostgres;
  readonly mailbox: Mailbox;
  readonly ann: Visitor;
  readonly ben: Visitor;
}

const what = 'the day of an operator';
const [annAddress, benAddress, strangerAddress] = ['ann@company.example', 'ben@company.example', 'eve@other.example'];
const password = 'correct horse battery';
const folder = useFolder('operators-day');
const stops: (() => Promise<void>)[] = [];
let skipped = packagedPostgresSkipReason;
let day: Day;
let [workspaceId, accountId, benId, benKey, managementKey, totpUri] = ['', '', '', '', '', ''];
let rounds: ReturnType<typeof secretRounds>;

beforeAll(async () => {
  const bin = await findPackagedPostgres();
  const redis = bin === undefined ? undefined : await keptRedis();
  if (bin === undefined || redis === undefined) return noteSkip(what, skipped);
  const [postgres, mailbox] = [await startPackagedPostgres(bin), await openMailbox()];
  stops.push(
    () => postgres.stop(),
    () => mailbox.stop(),
  );
  const providers = await StageProviders.start(scriptedModel({ servers: { alpha: 'scripted', beta: 'scripted' } }));
  stops.push(() => providers.stop());
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
    },
  };
  const service = await startService(options);
  const visitor = () => newVisitor(new URL(service.controlUrl).origin);
  stops.push(() => service.stop());
  day = { service, options, postgres, mailbox, ann: visitor(), ben: visitor() };
  skipped = '';
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

async function keptRedis(): Promise<OwnRedis | undefined> {
  const redis = await startOwnRedis({ appendOnly: true });
  if (redis === undefined) skipped = redisSkipReason;
  else stops.push(() => redis.stop());
  return redis;
}

/** The next part of the day. */
const hour = (name: string, test: () => Promise<void>): void =>
  it(name, async (context) => {
    if (skipped !== '') return context.skip(skipped);
    // Every hour needs the ones before.
    skipped = `${name}: it failed`;
    await test();
    skipped = '';
  });

const command = async (...args: readonly string[]): Promise<string> => {
  const { code, output } = await day.service.runControl(args);
  expect(code, output).toBe(0);
  return output;
};
const answering: Act = { kind: 'answer', usage: usageOf(7, 5) };
const costNusd = 7n * 1000n + 5n * 3000n;
let asked = 0;
const askFor = (service: Service, key: string, flow: 'compatibility' | 'ticket', script = {}): Promise<Answer> => {
  const content = scripted({ '*': answering, ...script }, `${asked++}`);
  return ask(
    service,
    key,
    { model: 'm/one', messages: [{ role: 'user', content }], max_completion_tokens: 100 },
    { flow },
  );
};

describe(what, () => {
  hour('begins with a first account, from the command line', async () => {
    const { ann } = day;
    const output = await command('account', 'create', annAddress);
    accountId = /^account: (\S+)/.exec(output)?.[1] ?? '';
    const token = /token=([\w-]+)/.exec(output)?.[1] ?? '';
    expect((await ann.post('/auth/reset-password', { token, newPassword: password })).status).toBe(200);
    expect((await ann.post('/auth/sign-in/email', { email: annAddress, password })).status).toBe(200);
    totpUri = (await ann.post('/auth/two-factor/enable', { password })).json.totpURI;
    const show = async (code: string) => (await ann.post('/auth/two-factor/verify-totp', { code })).status;
    expect(await showEarlierCode(totpUri, show)).toBe(200);
    expect(await show(totpCode(totpUri, Date.now()))).toBe(200);
    await command('operator', 'grant', annAddress);
  });

  hour('lets only invited people sign up', async () => {
    const { ann, ben, mailbox } = day;
    const signUp = (email: string) => ben.post('/auth/sign-up/email', { name: 'Ben', email, password });
    expect([(await signUp(benAddress)).status, (await signUp(strangerAddress)).status]).toEqual([403, 403]);
    expect((await ann.post('/operator/invitations', { email: benAddress })).status).toBe(201);
    expect([(await signUp(benAddress)).status, (await signUp(strangerAddress)).status]).toEqual([200, 403]);
    const token = await mailbox.token(benAddress, 'Confirm your address');
    expect((await ben.post('/auth/verify-email', { token, password })).status).toBe(200);
  });

  hour('funds a workspace, and invites a member', async () => {
    const { ann, ben } = day;
    const credit = { amount_usd: 20, reference: 'first invoice' };
    expect((await ann.post(`/operator/accounts/${accountId}/credit`, credit)).status).toBe(200);
    workspaceId = (await ann.post('/workspaces', { name: 'Team' })).json.id;
    const { token } = (await ann.post(`/workspaces/${workspaceId}/invitations`, { email: benAddress, role: 'member' }))
      .json;
    expect((await ben.post('/invitations/accept', { token })).status).toBe(200);
    benId = (await ben.get('/account')).json.id;
    const keyOf = async (by: Visitor, kind: string): Promise<string> =>
      (await by.post('/keys', { name: kind, kind, workspace_id: workspaceId })).json.key;
    [benKey, managementKey] = [await keyOf(ben, 'inference'), await keyOf(ann, 'management')];
    await until(
      async () => (await askFor(day.service, benKey, 'compatibility')).status === 200,
      'the new key is served',
    );
  });

  hour('holds a member to a budget under 200 requests at once, to the nano-dollar', async () => {
    const { ann, service } = day;
    const account = { accountId, managementKey, workspaceId, inferenceKey: benKey };
    const before = await service.settled(account);
    const spentNusd = 20_000_000_000n - before;
    // Room for twenty requests, and for a hold of the twentieth.
    const limitNusd = spentNusd + 20n * costNusd + 300_000n;
    const budget = { limit_usd: Number(limitNusd) / 1e9, member_id: benId };
    expect((await ann.send('PUT', `/workspaces/${workspaceId}/budgets`, budget)).status).toBe(200);
    await until(async () => (await service.runControl(['audit'])).code === 0, 'the budget is in force');
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, index) => askFor(service, benKey, index % 2 === 0 ? 'compatibility' : 'ticket')),
    );
    const served = answers.filter(({ status }) => status === 200).length;
    const refused = answers.filter(({ status }) => status === 402);
    const others = answers.filter(({ status }) => status !== 200 && status !== 402);
    expect(others.map(({ status, text }) => `${status} ${text}`)).toEqual([]);
    expect(served).toBeGreaterThan(0);
    expect(refused.map((answer) => answer.error?.type)).toContain('insufficient_balance');
    const spent = before - (await service.settled(account));
    expect(spent).toBe(BigInt(served) * costNusd);
    expect(spentNusd + spent).toBeLessThanOrEqual(limitNusd);
    expect((await ann.get(`/workspaces/${workspaceId}/budgets`)).json.data).toMatchObject([
      { member_id: benId, spent_usd: Number(spentNusd + spent) / 1e9 },
    ]);
    const raised = { limit_usd: 5, member_id: benId };
    expect((await ann.send('PUT', `/workspaces/${workspaceId}/budgets`, raised)).status).toBe(200);
    await until(async () => (await askFor(service, benKey, 'ticket')).status === 200, 'the raised budget is in force');
  });

  hour('goes on while a provider is out, and shows which', async () => {
    const { ann, service } = day;
    const out = { alpha: { kind: 'status', status: 500 } } as const;
    for (let index = 0; index < 12; index += 1) {
      const answered = await askFor(service, benKey, index % 2 === 0 ? 'compatibility' : 'ticket', out);
      expect(answered.status, answered.text).toBe(200);
    }
    await until(async () => {
      const { data } = providerListAnswerSchema.parse((await ann.get('/operator/providers')).json);
      return data.find(({ provider }) => provider === 'alpha')?.penalized_routes === 1;
    }, 'the list of providers shows the one that is out');
  });

  hour('refunds a payment', async () => {
    const { ann, service } = day;
    const account = { accountId, managementKey, workspaceId, inferenceKey: benKey };
    const before = await service.settled(account);
    const [{ id: package_id }] = (await ann.get('/billing/catalog')).json.packages;
    const ordered = await ann.post('/billing/orders', { package_id, rail: 'test' });
    const { id, amount, total } = orderAnswerSchema.parse(ordered.json);
    const paid = before + BigInt(amount) * 1_000_000_000n;
    await until(async () => (await service.settled(account)) === paid, 'the payment is credited');
    expect(await command('order', 'refund', id, String(total))).toContain(`${total} USD refunded`);
    await until(async () => (await service.settled(account)) === before, 'the refund is taken back');
  });

  hour('stops a key that leaked, and serves the next one', async () => {
    const { ann, ben, service } = day;
    const { data } = (await ann.get('/keys')).json;
    const leaked = data.find((key: { created_by: string; kind: string }) => key.created_by === benId);
    expect((await ann.send('DELETE', `/keys/${leaked.id}`)).status).toBe(204);
    await until(async () => (await askFor(service, benKey, 'compatibility')).status === 401, 'the key is refused');
    benKey = (await ben.post('/keys', { name: 'next', kind: 'inference', workspace_id: workspaceId })).json.key;
    await until(async () => (await askFor(service, benKey, 'ticket')).status === 200, 'the next key is served');
  });

  hour('replaces each secret', async () => {
    const { service, ben } = day;
    rounds = secretRounds(service, async (changes) => {
      await service.broker.terminate();
      await service.broker.restart(changes.broker);
      await service.control.terminate();
      await service.control.restart(changes.control);
    });
    for (const round of [rounds.accept, rounds.use, rounds.forget]) {
      await round();
      for (const flow of ['compatibility', 'ticket'] as const) {
        const answered = await askFor(service, benKey, flow);
        expect(answered.status, answered.text).toBe(200);
      }
    }
    // The secret of the sessions is another one, so people sign in again.
    expect((await ben.get('/keys')).status).toBe(401);
    expect((await ben.post('/auth/sign-in/email', { email: benAddress, password })).status).toBe(200);
  });

  hour('ends with a backup that a new machine restores: money, keys, people and acts', async () => {
    const { service, options, postgres } = day;
    const account = { accountId, managementKey, workspaceId, inferenceKey: benKey };
    const balance = await service.settled(account);
    const rows = (await usageRows(service, account)).length;
    expect(await command('audit')).toContain('clean');
    const guide = backupGuide(postgres.bin, folder);
    guide.backUp(options.databaseUrl);
    const redis = await keptRedis();
    const databaseUrl = await postgres.createDatabase('restored');
    guide.restore(databaseUrl);
    const { ACCOUNT_REF_KEY, SESSION_SECRET, ...shared } = rounds.next;
    const restored = await startService({
      ...{ ...options, databaseUrl, redisUrl: redis?.url },
      environment: { ...options.environment, ...shared },
      controlEnvironment: { ACCOUNT_REF_KEY, SESSION_SECRET },
    });
    stops.push(() => restored.stop());
    expect(await restored.settled(account)).toBe(balance);
    expect((await usageRows(restored, account)).length).toBe(rows);
    for (const flow of ['compatibility', 'ticket'] as const)
      expect((await askFor(restored, benKey, flow)).status).toBe(200);
    expect(await restored.settled(account)).toBe(balance - 2n * costNusd);
    const ann = newVisitor(new URL(restored.controlUrl).origin);
    expect((await ann.post('/auth/sign-in/email', { email: annAddress, password })).json.twoFactorRedirect).toBe(true);
    const code = totpCode(totpUri, Date.now() + 30_000);
    expect((await ann.post('/auth/two-factor/verify-totp', { code })).status).toBe(200);
    const acts = (await ann.get('/operator/audit')).json.data.map(({ act }: { act: string }) => act);
    for (const act of ['account_created', 'operator_granted', 'sign_up_invited', 'account_credited'])
      expect(acts).toContain(act);
    expect(await restored.runControl(['audit'])).toMatchObject({ code: 0 });
  });
});
