import { randomUUID } from 'node:crypto';
import { BlockList } from 'node:net';
import { bookSettlements, smtpMail } from '@sotto/control';
import { until } from '@sotto/test-servers';
import { Webhook } from 'standardwebhooks';
import { afterAll, expect, it } from 'vitest';
import { openMailbox } from '../../kit/mailbox.ts';
import { startReceiver } from '../../kit/webhook-receiver.ts';
import { type SignedInPerson, verified } from '../accounts/people.ts';
import { useWorld } from '../accounts/world.ts';

const mailbox = await openMailbox();
afterAll(() => mailbox.stop());
const receiver = await startReceiver();
afterAll(() => receiver.stop());
const webhookNetworks = new BlockList();
webhookNetworks.addAddress('127.0.0.1', 'ipv4');
const mailer = smtpMail({ url: mailbox.url, from: 'sotto@service.example' }, []);
const world = await useWorld({ webhookNetworks, mailer });
// Two processes look for alerts to send, here and wherever a test counts them.
await world.another();

interface Team {
  readonly owner: SignedInPerson;
  readonly path: string;
  readonly id: string;
  readonly secret: string;
  readonly key: { readonly accountId: string; readonly workspaceId: string; readonly keyId: string };
  join(role: string): Promise<SignedInPerson & { readonly accountId: string }>;
  set(body: object): Promise<void>;
  /** The events that this team has received. */
  events(): { readonly percent: number; readonly id: string; readonly body: string }[];
}

const accountOf = async ({ visitor }: SignedInPerson): Promise<string> => (await visitor.get('/account')).json.id;

/** A workspace with a webhook and a key of its owner. */
async function openTeam(): Promise<Team> {
  const owner = await verified(world);
  const accountId = await accountOf(owner);
  const { id } = (await owner.visitor.post('/workspaces', { name: 'Team' })).json;
  const path = `/workspaces/${id}`;
  const url = `https://127.0.0.1:${receiver.port}/${id}`;
  const { secret } = (await owner.visitor.send('PUT', `${path}/webhook`, { url })).json;
  const made = await owner.visitor.post('/keys', { name: 'nightly', kind: 'inference', workspace_id: id });
  return {
    ...{ owner, path, id, secret, key: { accountId, workspaceId: id, keyId: made.json.id } },
    async join(role) {
      const person = await verified(world);
      const { token } = (await owner.visitor.post(`${path}/invitations`, { email: person.email, role })).json;
      expect((await person.visitor.post('/invitations/accept', { token })).status).toBe(200);
      return { ...person, accountId: await accountOf(person) };
    },
    async set(body) {
      const { status, text } = await owner.visitor.send('PUT', `${path}/budgets`, body);
      expect(status, text).toBe(200);
    },
    events: () =>
      receiver.received
        .filter((event) => event.path === `/${id}`)
        .map(({ headers, body }) => ({
          percent: JSON.parse(body).percent,
          id: String(headers['webhook-id']),
          body: String(new Webhook(secret).verify(body, headers as Record<string, string>) && body),
        })),
  };
}

const month = (): string => new Date().toISOString().slice(0, 7);

/** A charge of a key in this month. */
const charge = (owner: Team['key'], usd: number) => ({
  owner,
  settlement: {
    ...{ v: 1 as const, id: randomUUID(), kind: 'charge' as const, accountRef: '', chargeNusd: String(usd * 1e9) },
    ...{ at: Date.now(), month: month(), operation: 'chat' as const, model: 'm/one', provider: 'acme' },
    ...{ privacyClass: 'private' as const, promptTokens: 1, cachedTokens: 0, completionTokens: 1, reasoningTokens: 0 },
    ...{ attempts: 1, fallback: false, status: 'completed' as const, estimated: false },
  },
});
const book = (...charges: ReturnType<typeof charge>[]) => bookSettlements(world.pool, charges);
const mailsTo = ({ email }: SignedInPerson, text: string): number =>
  mailbox.received.filter(({ to, subject }) => to === email && subject.includes(text)).length;
const hasPercents = (team: Team, percents: readonly number[]) =>
  until(
    async () => JSON.stringify(team.events().map(({ percent }) => percent)) === JSON.stringify(percents),
    () => `events of ${percents}; there are ${JSON.stringify(team.events())}`,
  );
/** Makes every delivery due, as after its pause or lease. */
const hurry = () => world.pool.query("update alert_deliveries set next_attempt_at = now() - interval '1 second'");

it('passing 50, 80 and 100 percent sends one mail to owner and admins and one signed event each, whatever is booked twice', async () => {
  const team = await openTeam();
  const [admin, viewer] = [await team.join('admin'), await team.join('viewer')];
  await team.set({ limit_usd: 10 });
  await book(charge(team.key, 4.99));
  const first = charge(team.key, 0.01);
  // Two settlers book the same charge at once.
  await Promise.all([book(first), book(first), book(first, charge(team.key, 0.5))]);
  await hasPercents(team, [50]);
  await book(first, charge(team.key, 2.5));
  await hasPercents(team, [50, 80]);
  await book(charge(team.key, 1));
  await book(charge(team.key, 1));
  await hasPercents(team, [50, 80, 100]);
  for (const person of [team.owner, admin]) {
    for (const percent of ['50 %', '80 %', '100 %']) {
      await mailbox.newest(person.email, percent);
      expect(mailsTo(person, percent)).toBe(1);
    }
  }
  expect(mailsTo(viewer, 'budget')).toBe(0);
  const [event] = team.events();
  expect(JSON.parse(event?.body ?? '')).toEqual({
    type: 'budget.alert',
    text: expect.stringContaining('The monthly budget of the workspace "Team" has passed 50 %.'),
    workspace: { id: team.id, name: 'Team' },
    ...{ person: null, key: null, tag: null },
    budget: { id: expect.any(String), scope: 'workspace', limit_usd: 10, spent_usd: expect.any(Number) },
    percent: 50,
    month: month(),
    url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/budgets$/),
  });
  const { text } = await mailbox.newest(team.owner.email, '100 %');
  expect(text).toMatch(/\$10\.\d\d of \$10\.00/);
  expect(text).not.toContain('m/one');
});

it('alerts at the percents that a workspace has chosen, from the next charge on', async () => {
  const team = await openTeam();
  const settings = `${team.path}/budget-settings`;
  const chosen = await team.owner.visitor.send('PUT', settings, {
    alert_percents: [90, 30, 90],
    member_budget_usd: null,
  });
  expect([chosen.status, chosen.json]).toEqual([200, { alert_percents: [30, 90], member_budget_usd: null }]);
  await team.set({ limit_usd: 10 });
  await book(charge(team.key, 5));
  await hasPercents(team, [30]);
  await team.owner.visitor.send('PUT', settings, { alert_percents: [40], member_budget_usd: null });
  await book(charge(team.key, 1));
  await hasPercents(team, [30, 40]);
  await team.owner.visitor.send('PUT', settings, { alert_percents: [], member_budget_usd: null });
  await book(charge(team.key, 4));
  await team.owner.visitor.send('PUT', settings, { alert_percents: [100], member_budget_usd: null });
  await book(charge(team.key, 1));
  await hasPercents(team, [30, 40, 100]);
  expect((await team.owner.visitor.get(settings)).json).toEqual({ alert_percents: [100], member_budget_usd: null });
  for (const alert_percents of [[0], [101], [1.5]]) {
    const { status, json } = await team.owner.visitor.send('PUT', settings, {
      alert_percents,
      member_budget_usd: null,
    });
    expect([status, json.error.param]).toEqual([400, 'alert_percents.0']);
  }
  const member = await team.join('member');
  expect((await member.visitor.send('PUT', settings, { alert_percents: [], member_budget_usd: 1 })).status).toBe(403);
  expect((await member.visitor.get(settings)).status).toBe(200);
});

it('gives each member without a budget of their own the budget of the workspace, until they leave', async () => {
  const team = await openTeam();
  const [ann, ben] = [await team.join('member'), await team.join('viewer')];
  await team.set({ limit_usd: 7, member_id: ben.accountId });
  const limits = async () => {
    const { json } = await team.owner.visitor.get(`${team.path}/budgets`);
    return Object.fromEntries(
      json.data.map((row: { member_id: string; limit_usd: number; is_default: boolean }) => [
        row.member_id,
        [row.limit_usd, row.is_default],
      ]),
    );
  };
  const give = async (member_budget_usd: number | null) => {
    const body = { alert_percents: [50, 80, 100], member_budget_usd };
    expect((await team.owner.visitor.send('PUT', `${team.path}/budget-settings`, body)).status).toBe(200);
  };
  await give(2);
  const own = { [ben.accountId]: [7, false] };
  expect(await limits()).toEqual({ ...own, [ann.accountId]: [2, true] });
  // A member who joins later has it before they can have a key.
  const eve = await team.join('member');
  expect(await limits()).toEqual({ ...own, [ann.accountId]: [2, true], [eve.accountId]: [2, true] });
  const made = await ann.visitor.post('/keys', { name: 'laptop', kind: 'inference', workspace_id: team.id });
  await book(charge({ ...team.key, keyId: made.json.id }, 1.7));
  await mailbox.newest(ann.email, '80 %');
  await give(3);
  expect(await limits()).toEqual({ ...own, [ann.accountId]: [3, true], [eve.accountId]: [3, true] });
  // A budget of their own replaces it, and its removal brings it back. It cannot be removed itself.
  await team.set({ limit_usd: 9, member_id: ann.accountId });
  const { json } = await team.owner.visitor.get(`${team.path}/budgets`);
  const idOf = (who: { accountId: string }) =>
    json.data.find((row: { member_id: string }) => row.member_id === who.accountId)?.id;
  const remove = async (who: { accountId: string }) =>
    (await team.owner.visitor.send('DELETE', `${team.path}/budgets/${idOf(who)}`)).status;
  expect([await remove(ann), await remove(eve)]).toEqual([204, 409]);
  expect(await limits()).toEqual({ ...own, [ann.accountId]: [3, true], [eve.accountId]: [3, true] });
  await team.owner.visitor.send('DELETE', `${team.path}/members/${eve.accountId}`);
  expect(await limits()).toEqual({ ...own, [ann.accountId]: [3, true] });
  await give(null);
  expect(await limits()).toEqual(own);
});

it('sends only the highest percent that a charge passes', async () => {
  const team = await openTeam();
  await team.set({ limit_usd: 1 });
  await book(charge(team.key, 1));
  await hasPercents(team, [100]);
  await mailbox.newest(team.owner.email, '100 %');
  expect([mailsTo(team.owner, '50 %'), mailsTo(team.owner, '80 %')]).toEqual([0, 0]);
});

it('tells a member of the budget that limits them or their key, and no other member', async () => {
  const team = await openTeam();
  const [ann, ben] = [await team.join('member'), await team.join('member')];
  const made = await ann.visitor.post('/keys', { name: 'laptop', kind: 'inference', workspace_id: team.id });
  await team.set({ limit_usd: 1, member_id: ann.accountId });
  await team.set({ limit_usd: 2, key_id: made.json.id });
  await book(charge({ ...team.key, keyId: made.json.id }, 1));
  const mine = await mailbox.newest(ann.email, '100 %');
  expect(mine.text).toContain(`budget of the member "${ann.email}" in the workspace "Team"`);
  const ofKey = await mailbox.newest(ann.email, '50 %');
  expect(ofKey.text).toContain('budget of the key "laptop"');
  expect(ofKey.text).not.toContain(made.json.key);
  await mailbox.newest(team.owner.email, '100 %');
  expect(mailsTo(ben, 'budget')).toBe(0);
});

it('alerts when a limit is set below the spending, not when it is set again, and again once a raised limit is passed', async () => {
  const team = await openTeam();
  await book(charge(team.key, 9));
  await team.set({ limit_usd: 100 });
  await team.set({ limit_usd: 10 });
  await hasPercents(team, [80]);
  await team.set({ limit_usd: 10 });
  await team.set({ limit_usd: 16 });
  await book(charge(team.key, 1));
  await book(charge(team.key, 3));
  await hasPercents(team, [80, 80]);
  await book(charge(team.key, 3));
  await hasPercents(team, [80, 80, 100]);
  expect(new Set(team.events().map(({ id }) => id)).size).toBe(3);
});

it('repeats a failed event under the same id, serves other workspaces meanwhile, and logs no address', async () => {
  const [failing, other] = [await openTeam(), await openTeam()];
  for (const team of [failing, other]) await team.set({ limit_usd: 1 });
  receiver.answerNext('hang');
  await book(charge(failing.key, 0.5));
  await until(async () => failing.events().length === 1, 'the hanging event');
  await book(charge(other.key, 0.5));
  await hasPercents(other, [50]);
  await until(async () => world.logs().includes('"failure":"timeout"'), 'the event has timed out');
  receiver.answerNext(503);
  await hurry();
  await until(async () => world.logs().includes('"failure":"refused 503"'), 'the event was refused');
  await hurry();
  await until(async () => failing.events().length === 3, 'the event is sent again');
  expect(new Set(failing.events().map(({ id }) => id)).size).toBe(1);
  expect(world.logs()).not.toContain(`127.0.0.1:${receiver.port}`);
  expect(world.logs()).not.toContain(failing.owner.email);
});

it('gives an alert up after a day', async () => {
  const team = await openTeam();
  await team.owner.visitor.send('PUT', `${team.path}/webhook`, { url: 'https://127.0.0.1:1/' });
  await team.set({ limit_usd: 1 });
  await book(charge(team.key, 0.5));
  const left = async () => {
    const { rows } = await world.pool.query<{ id: string }>(
      `select a.id from budget_alerts a join budgets b on b.id = a.budget_id
       where b.workspace_id = $1 and exists (select 1 from alert_deliveries d where d.alert_id = a.id)`,
      [team.id],
    );
    return rows.map(({ id }) => id);
  };
  await mailbox.newest(team.owner.email, '50 %');
  await until(async () => world.logs().includes('"failure":"unreachable"'), 'the first failure');
  const [alertId] = await left();
  expect(alertId).toBeDefined();
  await world.pool.query("update budget_alerts set created_at = now() - interval '25 hours' where id = $1", [alertId]);
  await hurry();
  await until(async () => (await left()).length === 0, 'the alert is given up');
  const line = world
    .logs()
    .split('\n')
    .find((each) => each.includes('budget alert given up'));
  expect(line).toContain(alertId);
});
