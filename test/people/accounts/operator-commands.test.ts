import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { verified } from './people.ts';
import { useWorld } from './world.ts';

const world = await useWorld({ signUp: { mode: 'open', domains: [] } });

it('acts list finds acts by person, kind and time, and names workspaces', async () => {
  const customer = await verified(world);
  const { id: workspaceId } = (await customer.visitor.post('/workspaces', { name: 'Their team' })).json;
  const key = { name: 'secret', kind: 'inference', workspace_id: workspaceId };
  expect((await customer.visitor.post('/keys', key)).status).toBe(201);
  const acts = async (...args: string[]) => (await world.cli(['acts', 'list', ...args])).lines;
  expect(await acts('--search', customer.email, '--act', 'workspace_created,key_created', '--limit', '1')).toEqual([
    expect.stringContaining(
      `by account ${customer.email}  account ${customer.email}  workspace ${workspaceId} "Their team"`,
    ),
  ]);
  expect(await acts('--workspace', workspaceId)).toHaveLength(2);
  expect(await acts('--workspace', workspaceId, '--actor', 'identity_provider')).toEqual([]);
  expect(await acts('--search', customer.email, '--to', '2026-01-01')).toEqual([]);
  for (const [option, value, said] of [
    ['act', 'danced', 'it takes a comma list of acts such as key_created'],
    ['actor', 'nobody', 'it takes account, operator, command_line, identity_provider or app'],
    ['from', 'yesterday', 'it takes a date such as 2026-11-21'],
    ['limit', '0', 'it takes a number of acts above 0'],
  ] as const)
    expect((await acts(`--${option}`, value))[0]).toContain(`--${option} is "${value}"; ${said}`);
});

it('sign-up invite takes an address that has an account for workspaces of other domains, without a mail', async () => {
  const mailbox = await openMailbox();
  const { email } = await verified(world);
  const fresh = `${randomUUID()}@work.example`;
  const smtp = { SMTP_URL: mailbox.url, MAIL_FROM: 'no-reply@sotto.example' };
  const { code, lines } = await world.cli(['sign-up', 'invite', email, fresh], smtp);
  expect([code, lines]).toEqual([
    0,
    [
      expect.stringMatching(new RegExp(`^${email} has an account already; any workspace can invite it until 20`)),
      expect.stringContaining(`${fresh} can sign up at`),
    ],
  ]);
  expect([mailbox.countTo(email), mailbox.countTo(fresh)]).toEqual([0, 1]);
  await mailbox.stop();
});
