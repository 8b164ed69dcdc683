import { execFile } from 'node:child_process';
import { BlockList } from 'node:net';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { afterAll, describe, expect, it } from 'vitest';
import { documentedBlock } from '../../kit/documented.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';
import { type SignedInPerson, verified } from '../accounts/people.ts';
import { type AccountsWorld, signIn, useWorld } from '../accounts/world.ts';

const run = promisify(execFile);
const firstSecret = 'a'.repeat(32);
const receiver = await startReceiver();
afterAll(() => receiver.stop());

/** A workspace with its owner, and its webhook's address in the API. */
async function workspaceIn(world: AccountsWorld): Promise<{ owner: SignedInPerson; id: string; path: string }> {
  const owner = await verified(world);
  const { id } = (await owner.visitor.post('/workspaces', { name: 'Team' })).json;
  return { owner, id, path: `/workspaces/${id}/webhook` };
}

describe('where loopback is allowed', async () => {
  const webhookNetworks = new BlockList();
  webhookNetworks.addAddress('127.0.0.1', 'ipv4');
  const world = await useWorld({ webhookNetworks, sessionSecrets: [firstSecret] });

  it('a webhook is set, tested with a valid signature, set again, and removed', async () => {
    const { owner, path, id } = await workspaceIn(world);
    expect((await owner.visitor.get(path)).json).toEqual({ webhook: null });
    expect((await owner.visitor.post(`${path}/test`)).status).toBe(404);
    const url = `https://127.0.0.1:${receiver.port}/hook?of=team`;
    const { secret, ...made } = (await owner.visitor.send('PUT', path, { url })).json;
    expect(made).toEqual({ url, format: 'json', created_at: expect.any(String) });
    expect((await owner.visitor.get(path)).json).toEqual({ webhook: made });

    expect((await owner.visitor.post(`${path}/test`)).json).toEqual({ outcome: 'delivered', status: 204 });
    const event = receiver.received.at(-1);
    expect(event?.path).toBe('/hook?of=team');
    const headers = event?.headers as Record<string, string>;
    // An independent implementation of the scheme accepts it, and with another secret does not.
    expect(new Webhook(secret).verify(event?.body ?? '', headers)).toEqual({
      type: 'budget.alert.test',
      text: expect.stringContaining('This is a test of the webhook'),
      workspace: { id, name: expect.any(String) },
      ...{ person: null, key: null, tag: null },
      budget: { id: expect.any(String), scope: 'workspace', limit_usd: 10, spent_usd: 8 },
      percent: 80,
      month: new Date().toISOString().slice(0, 7),
      url: `${world.origin}/budgets`,
    });
    const documented = await run('bash', ['-euc', documentedBlock('docs/use/budgets.md', 'verify')], {
      env: {
        ...{ PATH: process.env.PATH ?? '', SECRET: secret, ID: headers['webhook-id'] ?? '', BODY: event?.body ?? '' },
        ...{ TIMESTAMP: headers['webhook-timestamp'] ?? '', SIGNATURE: headers['webhook-signature'] ?? '' },
      },
    });
    expect(documented.stdout).toBe('valid\n');
    const again = (await owner.visitor.send('PUT', path, { url })).json;
    expect(again.secret).not.toBe(secret);
    expect(() => new Webhook(again.secret).verify(event?.body ?? '', headers)).toThrow();

    expect((await owner.visitor.send('DELETE', path)).status).toBe(204);
    expect((await owner.visitor.send('DELETE', path)).status).toBe(404);
    const acts = (await owner.visitor.get(`/workspaces/${id}/audit`)).json.data;
    expect(acts.map(({ act }: { act: string }) => act)).toEqual([
      'webhook_removed',
      'webhook_set',
      'webhook_set',
      'workspace_created',
    ]);
    expect(JSON.stringify(acts)).not.toContain('127.0.0.1');
    expect(world.logs()).not.toContain(`127.0.0.1:${receiver.port}`);
  });

  it('neither the address nor the secret is readable in the database, and a rotation of the session secret keeps both', async () => {
    const { owner, path } = await workspaceIn(world);
    const url = `https://127.0.0.1:${receiver.port}/hidden`;
    const { secret } = (await owner.visitor.send('PUT', path, { url })).json;
    const { rows } = await world.pool.query<{ row: string }>('select t::text as row from workspace_webhooks t');
    expect(rows.length).toBeGreaterThan(0);
    for (const { row } of rows) expect(row).not.toMatch(/hidden|whsec/);
    const rotating = await world.another({ sessionSecrets: ['b'.repeat(32), firstSecret] });
    const visitor = await signIn(rotating.visitor(), owner);
    expect((await visitor.post(`${path}/test`)).json).toEqual({ outcome: 'delivered', status: 204 });
    const event = receiver.received.at(-1);
    new Webhook(secret).verify(event?.body ?? '', event?.headers as Record<string, string>);
  });

  it('says what went wrong: an error, a redirect that it does not follow, and no server', async () => {
    const { owner, path } = await workspaceIn(world);
    const test = async () => (await owner.visitor.post(`${path}/test`)).json;
    await owner.visitor.send('PUT', path, { url: `https://localhost:${receiver.port}/` });
    receiver.answerNext(500, 302);
    expect(await test()).toEqual({ outcome: 'refused', status: 500 });
    const before = receiver.received.length;
    expect(await test()).toEqual({ outcome: 'redirected', status: 302 });
    expect(receiver.received.length).toBe(before + 1);
    await owner.visitor.send('PUT', path, { url: 'https://127.0.0.1:1/' });
    expect(await test()).toEqual({ outcome: 'unreachable', status: null });
  });

  it('is delivered once it answers 2xx, however long or slow the body is', async () => {
    const { owner, path } = await workspaceIn(world);
    await owner.visitor.send('PUT', path, { url: `https://localhost:${receiver.port}/` });
    receiver.answerNext('long', 'endless');
    for (let at = 0; at < 2; at += 1)
      expect((await owner.visitor.post(`${path}/test`)).json).toEqual({ outcome: 'delivered', status: 200 });
  });

  it('refuses what is no https URL', async () => {
    const { owner, path } = await workspaceIn(world);
    for (const url of ['http://hooks.example.com/', 'https://ann:secret@hooks.example.com/', 'hooks.example.com', '']) {
      const { status, json } = await owner.visitor.send('PUT', path, { url });
      expect([status, json.error.param, json.error.message]).toEqual([400, 'url', expect.stringContaining('https://')]);
    }
  });
});

describe('where nothing else is allowed', async () => {
  const world = await useWorld();

  it.each([
    ...['localhost', '127.0.0.1', '[::1]', '10.0.0.1', '169.254.169.254', '[::ffff:127.0.0.1]', '2130706433'],
    // This machine as "any address", in other spellings, and through translators of IPv4 (NAT64, 6to4).
    ...['0.0.0.0', '0', '[::]', '0x7f.1', '0177.0.0.1', '127.1', '[::ffff:7f00:1]', '[::ffff:0:0]', '[::127.0.0.1]'],
    ...['[64:ff9b::7f00:1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '127.0.0.1.'],
  ])('connects to no address that is not public: %s', async (host) => {
    const { owner, path } = await workspaceIn(world);
    const before = receiver.connections();
    await owner.visitor.send('PUT', path, { url: `https://${host}:${receiver.port}/` });
    expect((await owner.visitor.post(`${path}/test`)).json).toEqual({
      ...{ outcome: 'address_not_public', status: null },
      message: expect.stringContaining('`webhooks.networks`'),
    });
    expect(receiver.connections()).toBe(before);
  });
});
