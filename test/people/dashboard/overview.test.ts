import { randomUUID } from 'node:crypto';
import { bookSettlements } from '@sotto/control';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/both-planes.ts';
import { describeDashboard, expectAccessible, expectGoodLooks, keepPicture, type Person, type Stage } from './stage.ts';

const dayMs = 86_400_000;
const heading = { level: 1, name: 'Overview' } as const;
const tile = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd');
const card = (page: Page, title: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: title }) });

/** Creates a key. Resolves to its id and workspace. */
async function makeKey(page: Page, body: object): Promise<{ readonly id: string; readonly workspace_id: string }> {
  const answer = await page.request.post('/v1/keys', { data: { kind: 'inference', ...body } });
  expect(answer.status()).toBe(201);
  return (await answer.json()) as { id: string; workspace_id: string };
}

interface Use {
  readonly key: { readonly id: string; readonly workspace_id: string };
  readonly daysAgo?: number;
  readonly model?: string;
  readonly usd: number;
  readonly failed?: boolean;
  readonly firstToken?: number;
}

/** Books requests as the broker settles them. */
async function use(stage: Stage, { accountId }: Pick<Person, 'accountId'>, uses: readonly Use[]): Promise<void> {
  const batch = uses.map(({ key, daysAgo = 0, model = 'acme/small', usd, failed = false, firstToken }) => ({
    owner: { accountId, workspaceId: key.workspace_id, keyId: key.id },
    settlement: {
      ...({ v: 1, id: randomUUID(), kind: 'charge', accountRef: '', operation: 'chat', model } as const),
      ...({ provider: 'acme', privacyClass: 'private', estimated: false } as const),
      ...(failed ? ({ status: 'failed', error: 'provider' } as const) : ({ status: 'completed', firstToken } as const)),
      ...{ chargeNusd: String(Math.round(usd * 1e9)), at: Date.now() - daysAgo * dayMs },
      ...{ promptTokens: 10, cachedTokens: 0, completionTokens: 20, reasoningTokens: 0, attempts: 1, fallback: false },
    },
  }));
  await bookSettlements(stage.service.pool, batch);
}

/** A workspace of three people with usage, a limit that is reached and a budget that is nearly used up. */
async function team(stage: Stage) {
  const [owner, member, viewer] = [await stage.person(), await stage.person(0), await stage.person(0)];
  const page = await stage.open('/verify', { as: owner });
  const workspace = (await (await page.request.post('/v1/workspaces', { data: { name: 'Team' } })).json()) as {
    id: string;
  };
  const theirs = await stage.open('/verify', { as: member });
  const watching = await stage.open('/verify', { as: viewer });
  for (const [person, role, of] of [
    [member, 'member', theirs],
    [viewer, 'viewer', watching],
  ] as const) {
    const data = { email: person.email, role };
    const invited = await page.request.post(`/v1/workspaces/${workspace.id}/invitations`, { data });
    const { token } = (await invited.json()) as { token: string };
    expect((await of.request.post('/v1/invitations/accept', { data: { token } })).status()).toBe(200);
  }
  const nightly = await makeKey(page, { name: 'nightly job', workspace_id: workspace.id, credit_limit_usd: 0.5 });
  const laptop = await makeKey(theirs, { name: 'laptop', workspace_id: workspace.id });
  const set = await page.request.put(`/v1/workspaces/${workspace.id}/budgets`, { data: { limit_usd: 1.6 } });
  expect(set.status()).toBe(200);
  await use(stage, owner, [
    { key: nightly, usd: 1 },
    { key: laptop, usd: 0.5, model: 'beta/chat' },
    { key: laptop, usd: 0.25, model: 'beta/chat', daysAgo: 70 },
  ]);
  for (const each of [page, theirs, watching]) {
    await each.evaluate(`localStorage.setItem('sotto.workspace', '${workspace.id}')`);
    await each.goto('/');
    await each.getByRole('heading', heading).waitFor();
  }
  return { owner, page, theirs, watching };
}

await describeDashboard('the overview', (stage) => {
  it('shows its owner the spending, how long the balance lasts, and the largest models, keys and members', async () => {
    const { owner, page } = await team(stage);
    await expect.poll(() => tile(page, 'Spend today').textContent()).toBe('$1.502 requests');
    expect(await tile(page, 'Spend this month').textContent()).toMatch(/^\$1\.50(?:projected \$|its first day)/);
    await expect.poll(() => tile(page, 'Balance').textContent()).toMatch(/lasts about \d days at this rate$/);
    expect(await tile(page, 'Requests this month').textContent()).toMatch(/^2/);
    expect(await tile(page, 'Failed this month').textContent()).toBe('0%of requests');
    expect(await tile(page, 'Time to first token').textContent()).toBe('–no streamed answers in 30 days');
    await expect.poll(() => card(page, 'Top models').textContent()).toMatch(/acme\/small\$1\.00.*beta\/chat\$0\.50/);
    expect(await card(page, 'Top keys').textContent()).toMatch(/nightly job\$1\.0066\.7%.*laptop\$0\.50/);
    expect(await card(page, 'Top members').textContent()).toContain(`${owner.email}$1.00`);
    await page.getByText('The key nightly job is at its limit').waitFor();
    await page.getByText('The budget of the workspace is at 93.8%: $1.50 of $1.60').waitFor();
    await expectAccessible(page);
    await card(page, 'Top keys').getByRole('link', { name: 'nightly job' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
  });

  it('shows members their own keys, and viewers sums alone; neither sees a balance that is not theirs', async () => {
    const { theirs, watching } = await team(stage);
    await expect.poll(() => card(theirs, 'Your keys').textContent()).toContain('laptop$0.50');
    expect(await theirs.getByText('nightly job').count()).toBe(0);
    await expect.poll(() => card(watching, 'Top models').textContent()).toContain('acme/small$1.00');
    await watching.getByText('The budget of the workspace is at 93.8%').waitFor();
    for (const page of [theirs, watching]) {
      expect(await tile(page, 'Spend today').textContent()).toContain('$1.50');
      expect(await page.getByRole('heading', { name: 'Top members' }).count()).toBe(0);
      expect(await tile(page, 'Balance').count()).toBe(0);
      expect(await page.getByRole('navigation').getByRole('link', { name: 'Audit log' }).count()).toBe(0);
    }
    expect(await watching.getByRole('heading', { name: /keys/ }).count()).toBe(0);
  });

  it('shows the share of failed requests, and how fast answers began', async () => {
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    const key = await makeKey(page, { name: 'x' });
    const times = [0, 0, 0, 0, 0, 1, 1, 1, 3, 7];
    await use(stage, person, [
      ...times.map((firstToken) => ({ key, usd: 0.1, firstToken })),
      ...[0, 0].map(() => ({ key, usd: 0, failed: true })),
    ]);
    await page.goto('/');
    await expect
      .poll(() => tile(page, 'Time to first token').textContent())
      .toBe('250 msat most, for half of the answers; 2 s for nine in ten');
    expect(await tile(page, 'Failed this month').textContent()).toBe('16.7%See them');
    await page.getByRole('link', { name: 'See them' }).click();
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('failed');
  });

  it('stays for a workspace whose last request is some months old, and says that nothing needs attention', async () => {
    const person = await stage.person();
    const page = await stage.open('/', { as: person });
    await page.getByRole('heading', { level: 1, name: 'First steps' }).waitFor();
    await use(stage, person, [{ key: await makeKey(page, { name: 'old' }), usd: 1, daysAgo: 200 }]);
    await page.reload();
    await page.getByRole('heading', heading).waitFor();
    await page.getByText('Nothing needs your attention.').waitFor();
    expect(await tile(page, 'Balance').textContent()).toContain('lasts over a year at this rate');
    expect(await page.getByText('No requests in these days.').count()).toBe(3);
  });

  it('says what could not be loaded, and loads it again', async () => {
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    await use(stage, person, [{ key: await makeKey(page, { name: 'x' }), usd: 1 }]);
    const refuse = { status: 500, json: { error: { type: 'internal_error', message: 'It broke.' } } };
    await page.route('**/v1/usage/daily*', (route) => route.fulfill(refuse));
    await page.goto('/');
    await page.getByRole('alert').getByText('It broke.').waitFor();
    await page.unroute('**/v1/usage/daily*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => tile(page, 'Spend today').textContent()).toBe('$1.001 request');
  });

  thoroughly('looks well', async () => {
    const { owner, page, theirs } = await team(stage);
    await keepPicture(page, 'overview-team');
    await keepPicture(theirs, 'overview-member');
    const own = await stage.open('/verify', { as: owner });
    const long = await makeKey(own, { name: 'a key with a name of a hundred characters '.repeat(3).slice(0, 100) });
    const days = Array.from({ length: 40 }, (_, index) => index);
    await use(
      stage,
      owner,
      days.map((daysAgo) => ({
        key: long,
        usd: 0.02 * (1 + (daysAgo % 5)),
        daysAgo,
        model: ['acme/small', 'beta/chat', 'acme/wide'][daysAgo % 3] ?? '',
      })),
    );
    await expectGoodLooks(stage, {
      name: 'overview',
      path: '/',
      as: owner,
      widths: [390, 1440],
      shown: async (shown) => {
        await shown.getByRole('figure').locator('svg').first().waitFor();
        await shown.getByText('at this rate').waitFor();
        await shown.getByText('a key with a name').first().waitFor();
      },
    });
    await expectGoodLooks(stage, {
      name: 'audit-log',
      path: '/audit',
      as: owner,
      widths: [390, 1440],
      shown: (shown) => shown.getByRole('table').getByText('Key created').first().waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'first-steps-empty',
      path: '/',
      as: await stage.person(0),
      widths: [390, 1440],
      shown: (shown) => shown.getByText('Waiting for your first request…').waitFor(),
    });
  });
});
