import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providerListAnswerSchema } from '@sotto/contract/control/operator';
import { orderAnswerSchema } from '@sotto/contract/control/orders';
import { until } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { showEarlierCode, totpCode } from '../../kit/authenticator.ts';
import { usageRows } from '../../kit/books.ts';
import { bearer } from '../../kit/client.ts';
import { documentedBlock } from '../../kit/documented.ts';
import { useFolder } from '../../kit/folder.ts';
import { backupGuide } from '../../kit/packaged-postgres.ts';
import { fromSource, programOf, runToEnd } from '../../kit/programs.ts';
import { get } from '../../kit/send.ts';
import { startService } from '../../kit/service.ts';
import { newVisitor, type Visitor } from '../../kit/visitor.ts';
import { askFor, costNusd, type Day, keptRedis, startDay, step, task, what } from './operators-day-stage.ts';
import { secretRounds } from './secret-rounds.ts';

const [annAddress, benAddress, eveAddress] = ['ann@company.example', 'ben@company.example', 'eve@company.example'];
const strangerAddress = 'someone@other.example';
const password = 'correct horse battery';
const root = fileURLToPath(new URL('../../../', import.meta.url));
const folder = useFolder('operators-day');
const stops: (() => Promise<unknown>)[] = [];
let day: Day;
let [workspaceId, accountId, benId, benKey, benKeyId, managementKey, totpUri] = ['', '', '', '', '', '', ''];
let rounds: ReturnType<typeof secretRounds>;
const failing = { kind: 'status', status: 500 } as const;

beforeAll(async () => {
  const started = await startDay(folder, stops);
  if (started !== undefined) day = started;
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
});

const command = (...args: readonly string[]): Promise<string> =>
  step(async () => {
    const { code, output } = await day.service.runControl(args);
    expect(code, output).toBe(0);
    return output;
  });
const statusOf = async (key: string, flow: 'compatibility' | 'ticket' = 'compatibility') =>
  (await askFor(day.service, key, flow)).status;
const ofTeam = () => ({ accountId, managementKey, workspaceId, inferenceKey: benKey });
/** An hour around now, as the dates of a query. */
const nearby = (): string => {
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  return `from=${at(-1_800_000)}&to=${at(1_800_000)}`;
};

describe(what, () => {
  task('make the first account, which operates', 6, async () => {
    const { ann } = day;
    const output = await command('account', 'create', annAddress);
    accountId = /^account: (\S+)/.exec(output)?.[1] ?? '';
    const token = /token=([\w-]+)/.exec(output)?.[1] ?? '';
    expect((await ann.post('/auth/reset-password', { token, newPassword: password })).status).toBe(200);
    expect((await ann.post('/auth/sign-in/email', { email: annAddress, password })).status).toBe(200);
    totpUri = (await ann.post('/auth/two-factor/enable', { password })).json.totpURI;
    const show = async (visitor: Visitor, code: string) =>
      (await visitor.post('/auth/two-factor/verify-totp', { code })).status;
    expect(await showEarlierCode(totpUri, (code) => show(day.look, code))).toBe(200);
    expect(await show(ann, totpCode(totpUri, Date.now()))).toBe(200);
    await command('operator', 'grant', annAddress);
  });

  task('let only an invited person sign up', 1, async () => {
    const { ann, ben, mailbox } = day;
    const signUp = (email: string) => ben.post('/auth/sign-up/email', { name: 'Ben', email, password });
    expect([(await signUp(benAddress)).status, (await signUp(strangerAddress)).status]).toEqual([403, 403]);
    expect((await ann.post('/operator/invitations', { email: benAddress })).status).toBe(201);
    expect([(await signUp(benAddress)).status, (await signUp(strangerAddress)).status]).toEqual([200, 403]);
    const token = await mailbox.token(benAddress, 'Confirm your address');
    expect((await ben.post('/auth/verify-email', { token, password })).status).toBe(200);
  });

  task('invite a list of people', 1, async () => {
    const { eve, mailbox } = day;
    await command('sign-up', 'invite', eveAddress, 'fay@company.example', 'gil@company.example');
    expect((await eve.post('/auth/sign-up/email', { name: 'Eve', email: eveAddress, password })).status).toBe(200);
    const token = await mailbox.token(eveAddress, 'Confirm your address');
    expect((await eve.post('/auth/verify-email', { token, password })).status).toBe(200);
  });

  task('credit an account', 1, async () => {
    const credit = { amount_usd: 20, reference: 'first invoice' };
    expect((await day.ann.post(`/operator/accounts/${accountId}/credit`, credit)).status).toBe(200);
  });

  task('make a workspace with a member', 3, async () => {
    const { ann, ben, service } = day;
    workspaceId = (await ann.post('/workspaces', { name: 'Team' })).json.id;
    const { token } = (await ann.post(`/workspaces/${workspaceId}/invitations`, { email: benAddress, role: 'member' }))
      .json;
    expect((await ben.post('/invitations/accept', { token })).status).toBe(200);
    benId = (await ben.get('/account')).json.id;
    const keyOf = async (by: Visitor, kind: string) =>
      (await by.post('/keys', { name: kind, kind, workspace_id: workspaceId })).json;
    ({ key: benKey, id: benKeyId } = await keyOf(ben, 'inference'));
    managementKey = (await keyOf(ann, 'management')).key;
    await until(async () => (await askFor(service, benKey, 'compatibility')).status === 200, 'the new key is served');
  });

  task('bound the keys of the workspace by a policy', 1, async () => {
    const { ann, ben } = day;
    const policy = { allowed_models: ['m/*'], max_key_limit_usd: 10, max_key_days: 90, openai_compatible: true };
    expect((await ann.send('PUT', `/workspaces/${workspaceId}/policy`, policy)).status).toBe(200);
    const beyond = await ben.send('PATCH', `/keys/${benKeyId}`, { credit_limit_usd: 11 });
    expect(beyond).toMatchObject({ status: 400, json: { error: { param: 'credit_limit_usd' } } });
    const { data } = (await ben.get(`/keys?workspace_id=${workspaceId}`)).json;
    expect(data.find(({ id }: { id: string }) => id === benKeyId)).toMatchObject({ credit_limit_usd: 10 });
  });

  task('restrict one member’s key, and free it again', 2, async () => {
    const { ann, ben } = day;
    const restrict = (credit_limit_usd: number | null) => ann.send('PATCH', `/keys/${benKeyId}`, { credit_limit_usd });
    expect(await restrict(5)).toMatchObject({ status: 200, json: { locked: ['credit_limit_usd'] } });
    expect((await ben.send('PATCH', `/keys/${benKeyId}`, { credit_limit_usd: 9 })).status).toBe(403);
    expect(await restrict(null)).toMatchObject({ status: 200, json: { locked: [] } });
  });

  task('be told by webhook', 1, async () => {
    const url = `https://127.0.0.1:${day.receiver.port}/team`;
    expect((await day.ann.send('PUT', `/workspaces/${workspaceId}/webhook`, { url, format: 'slack' })).status).toBe(
      200,
    );
  });

  task('hold a member to a budget under 200 requests at once, to the nano-dollar', 2, async () => {
    const { ann, service } = day;
    const before = await service.settled(ofTeam());
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
    const spent = before - (await service.settled(ofTeam()));
    expect(spent).toBe(BigInt(served) * costNusd);
    expect(spentNusd + spent).toBeLessThanOrEqual(limitNusd);
    expect((await ann.get(`/workspaces/${workspaceId}/budgets`)).json.data).toMatchObject([
      { member_id: benId, spent_usd: Number(spentNusd + spent) / 1e9 },
    ]);
  });

  task('hear of the first refusal of a month, and raise the budget', 1, async () => {
    const { ann, mailbox, receiver, service } = day;
    for (const address of [annAddress, benAddress])
      expect((await mailbox.newest(address, 'refused a request')).text).toContain(
        `budget of the member "${benAddress}"`,
      );
    await until(async () => receiver.received.length > 0, 'the webhook is called');
    expect(receiver.received[0]?.body).toContain('refused a request');
    const raised = { limit_usd: 5, member_id: benId };
    expect((await ann.send('PUT', `/workspaces/${workspaceId}/budgets`, raised)).status).toBe(200);
    await until(async () => (await askFor(service, benKey, 'ticket')).status === 200, 'the raised budget is in force');
  });

  task('give each new member a budget', 3, async () => {
    const { ann, eve } = day;
    const settings = { alert_percents: [80, 100], member_budget_usd: 5 };
    expect((await ann.send('PUT', `/workspaces/${workspaceId}/budget-settings`, settings)).status).toBe(200);
    const invitation = { email: eveAddress, role: 'member' };
    const { token } = (await ann.post(`/workspaces/${workspaceId}/invitations`, invitation)).json;
    expect((await eve.post('/invitations/accept', { token })).status).toBe(200);
    const { id } = (await eve.get('/account')).json;
    const { data } = (await ann.get(`/workspaces/${workspaceId}/budgets`)).json;
    expect(data).toContainEqual(expect.objectContaining({ member_id: id, limit_usd: 5, is_default: true }));
  });

  task('see which provider is out', 1, async () => {
    const { ann, look, service } = day;
    for (let index = 0; index < 12; index += 1) {
      const answered = await askFor(service, benKey, index % 2 === 0 ? 'compatibility' : 'ticket', { alpha: failing });
      expect(answered.status, answered.text).toBe(200);
    }
    const isShown = async (by: Visitor): Promise<boolean> => {
      const { data } = providerListAnswerSchema.parse((await by.get('/operator/providers')).json);
      return data.find(({ provider }) => provider === 'alpha')?.penalized_routes === 1;
    };
    await until(() => isShown(look), 'the list of providers shows the one that is out');
    expect(await isShown(ann)).toBe(true);
  });

  task('see which provider was slow', 1, async () => {
    const text = await step(async () => (await fetch(day.brokerMetricsUrl)).text());
    for (const line of [
      'sotto_provider_first_byte_seconds_count{provider="beta"',
      'sotto_attempts_total{provider="alpha"',
    ])
      expect(text).toContain(line);
  });

  task('find why a request failed', 2, async () => {
    const { ann, look, service } = day;
    expect((await askFor(service, benKey, 'compatibility', { '*': failing })).status).toBeGreaterThanOrEqual(500);
    const rows = (by: Visitor) => by.get(`/usage?workspace_id=${workspaceId}&status=failed&${nearby()}`);
    await until(async () => (await rows(look)).json.data.length === 1, 'the failed request has a row');
    expect((await rows(ann)).json.data).toMatchObject([{ error: 'provider', provider_status: '5xx' }]);
    const refused = (await ann.get(`/usage/refusals?workspace_id=${workspaceId}&${nearby()}`)).json.data;
    expect(refused).toContainEqual(expect.objectContaining({ kind: 'member_budget', key_id: benKeyId }));
  });

  task('find a request on the broker’s host, by its id', 1, async () => {
    const answered = await askFor(day.service, benKey, 'ticket', { alpha: failing });
    const id = answered.headers.get('x-request-id') ?? 'none';
    const isLogged = async () =>
      day.service
        .logs()
        .split('\n')
        .some((line) => line.includes(id) && JSON.parse(line).msg === 'request');
    await until(isLogged, 'the broker logged the request');
    await writeFile(join(folder, 'journal'), day.service.logs());
    await writeFile(join(folder, 'journalctl'), `#!/bin/sh\ncat '${join(folder, 'journal')}'\n`, { mode: 0o755 });
    const search = documentedBlock('docs/operate/monitoring-and-runbooks.md', 'find-request').replace('req_4f0c', id);
    const { stdout } = step(() =>
      spawnSync('sh', ['-c', search], { encoding: 'utf8', env: { PATH: `${folder}:${process.env.PATH}` } }),
    );
    const lines = stdout.trim().split('\n');
    expect(new Set(lines.map((line) => JSON.parse(line).process))).toEqual(new Set(['confidential']));
  });

  task('have traces of both planes', 1, async () => {
    const services = () => [...new Set(day.collector.spans().map(({ service }) => service))].sort();
    await until(async () => services().length === 2, 'both planes sent spans');
    expect(step(services)).toEqual(['sotto-broker', 'sotto-control']);
  });

  task('ask the doctor', 1, async () => {
    const { options, service } = day;
    const catalogFile = join(folder, 'catalog.yaml');
    await writeFile(catalogFile, options.catalog);
    const doctor = [...fromSource, programOf('apps/control/src/main.ts'), 'doctor'];
    const { code, out, error } = await step(() =>
      runToEnd(process.execPath, doctor, root, {
        ...service.secrets,
        ...{ DATABASE_URL: options.databaseUrl, REDIS_URL: options.redisUrl ?? '', CATALOG_FILE: catalogFile },
        CONTROL_ORIGIN: new URL(service.controlUrl).origin,
        CONFIDENTIAL_ORIGIN: new URL(service.baseUrl).origin,
      }),
    );
    expect(code, `${out}\n${error}`).toBe(0);
    expect(out).toMatch(/^no problems$/m);
  });

  task('check a catalog, and change a model without a restart', 3, async () => {
    const { options, service } = day;
    const [catalog, registry] = [join(folder, 'next-catalog.yaml'), join(folder, 'providers.yaml')];
    const next = options.catalog.replace(/"context_length":\s*\d+/, '"context_length":150000');
    expect(next).not.toBe(options.catalog);
    await step(() => writeFile(catalog, next));
    await writeFile(registry, options.registry);
    await command('catalog', 'check', catalog, '--registry', registry);
    await step(() => service.replaceCatalog(next));
    const { json } = await get(`${service.controlUrl}/catalog/models`);
    const { data } = json as { data: { id: string; context_length: number }[] };
    expect(data.find(({ id }) => id === 'm/one')?.context_length).toBe(150_000);
    expect(await statusOf(benKey)).toBe(200);
  });

  task('group spending by cost centre', 2, async () => {
    const { ann } = day;
    expect((await ann.send('PATCH', `/keys/${benKeyId}`, { tag: 'research' })).status).toBe(200);
    const { data } = (await ann.get(`/usage/daily?workspace_id=${workspaceId}&group_by=tag`)).json;
    expect(data).toContainEqual(expect.objectContaining({ tag: 'research' }));
  });

  task('export who spent what, with names, by a management key', 1, async () => {
    const path = '/usage/daily?group_by=month,workspace_id,member_id,key_id,model&format=csv';
    const { text } = await step(() => get(`${day.service.controlUrl}${path}`, bearer(managementKey)));
    const [head, ...lines] = text.trim().split('\r\n');
    expect(head).toMatch(/workspace_name.*member_email.*key_name.*model/);
    expect(lines).toEqual([expect.stringMatching(/Team.*ben@company\.example.*inference.*m\/one/)]);
  });

  task('see what each person spent in each workspace', 1, async () => {
    const { json } = await day.ann.get('/operator/spend');
    const row = { workspace_name: 'Team', member_email: benAddress, payer_email: annAddress };
    expect(json.data).toEqual([expect.objectContaining(row)]);
    expect(JSON.stringify(json)).not.toMatch(/m\/one|inference/);
  });

  task('refund a payment', 1, async () => {
    const { look, service } = day;
    const before = await service.settled(ofTeam());
    const [{ id: package_id }] = (await look.get('/billing/catalog')).json.packages;
    const ordered = await look.post('/billing/orders', { package_id, rail: 'test' });
    const { id, amount, total } = orderAnswerSchema.parse(ordered.json);
    const paid = before + BigInt(amount) * 1_000_000_000n;
    await until(async () => (await service.settled(ofTeam())) === paid, 'the payment is credited');
    expect(await command('order', 'refund', id, String(total))).toContain(`${total} USD refunded`);
    await until(async () => (await service.settled(ofTeam())) === before, 'the refund is taken back');
  });

  task('find who removed a limit', 1, async () => {
    const { json } = await day.ann.get(`/workspaces/${workspaceId}/audit?act=key_changed`);
    expect(json.data).toContainEqual(
      expect.objectContaining({
        actor_email: annAddress,
        account_email: benAddress,
        details: expect.objectContaining({ credit_limit_usd: null }),
      }),
    );
  });

  task('stop a key that leaked', 1, async () => {
    const { ann, ben, service } = day;
    expect((await ann.send('DELETE', `/keys/${benKeyId}`)).status).toBe(204);
    await until(async () => (await askFor(service, benKey, 'compatibility')).status === 401, 'the key is refused');
    benKey = (await ben.post('/keys', { name: 'next', kind: 'inference', workspace_id: workspaceId })).json.key;
    await until(async () => (await askFor(service, benKey, 'ticket')).status === 200, 'the next key is served');
  });

  task('disable an account, and enable it again', 2, async () => {
    const { look } = day;
    await command('account', 'disable', benId);
    await until(async () => (await statusOf(benKey)) === 401, 'the key of the disabled person is refused');
    const { data } = (await look.get(`/workspaces/${workspaceId}/members`)).json;
    expect(data.find(({ email }: { email: string }) => email === benAddress)).toMatchObject({ disabled: true });
    await command('account', 'enable', benId);
    await until(async () => (await statusOf(benKey)) === 200, 'the key works again');
  });

  task('delete a person on request', 2, async () => {
    const { eve } = day;
    const id = /[0-9a-f-]{36}/.exec(await command('account', 'list', '--search', eveAddress))?.[0] ?? '';
    await command('account', 'delete', id, '--email', eveAddress);
    expect((await eve.post('/auth/sign-in/email', { email: eveAddress, password })).status).toBe(401);
  });

  task('replace each secret', 3, async () => {
    const { service, ben } = day;
    rounds = secretRounds(service, async (changes) => {
      await service.broker.terminate();
      await service.broker.restart(changes.broker);
      await service.control.terminate();
      await service.control.restart(changes.control);
    });
    for (const round of [rounds.accept, rounds.use, rounds.forget]) {
      await step(round);
      for (const flow of ['compatibility', 'ticket'] as const) {
        const answered = await askFor(service, benKey, flow);
        expect(answered.status, answered.text).toBe(200);
      }
    }
    // The secret of the sessions is another one, so people sign in again.
    expect((await ben.get('/keys')).status).toBe(401);
    expect((await ben.post('/auth/sign-in/email', { email: benAddress, password })).status).toBe(200);
  });

  task('back up, and restore on a new machine: money, keys, people and acts', 4, async () => {
    const { service, options, postgres } = day;
    const account = ofTeam();
    const balance = await service.settled(account);
    const rows = (await usageRows(service, account)).length;
    expect(await command('audit')).toContain('clean');
    const guide = backupGuide(postgres.bin, folder);
    step(() => guide.backUp(options.databaseUrl));
    const redis = await keptRedis(stops);
    const databaseUrl = await postgres.createDatabase('restored');
    step(() => guide.restore(databaseUrl));
    const { ACCOUNT_REF_KEY, SESSION_SECRET, ...shared } = rounds.next;
    const restored = await step(() =>
      startService({
        ...{ ...options, databaseUrl, redisUrl: redis?.url, brokerEnvironment: {} },
        environment: { ...options.environment, ...shared },
        controlEnvironment: { ACCOUNT_REF_KEY, SESSION_SECRET },
      }),
    );
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
    const acts = (await ann.get('/operator/audit?limit=100')).json.data.map(({ act }: { act: string }) => act);
    for (const act of ['account_created', 'operator_granted', 'sign_up_invited', 'account_credited'])
      expect(acts).toContain(act);
    expect(await restored.runControl(['audit'])).toMatchObject({ code: 0 });
  });
});
