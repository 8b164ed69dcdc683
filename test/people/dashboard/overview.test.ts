import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { use } from './requests.suite.ts';
import {
  accept,
  createKey,
  createWorkspace,
  describeDashboard,
  expectAccessible,
  expectGoodLooks,
  heading,
  holdBack,
  invite,
  keepPicture,
  type Stage,
} from './stage.ts';

const overview = heading('Overview');
const tile = (page: Page, name: string) => page.locator('dl > div').filter({ hasText: name }).locator('dd');
const card = (page: Page, title: string) =>
  page.locator('section').filter({ has: page.getByRole('heading', { level: 2, name: title }) });

/** A workspace of three people with usage, a limit that is reached and a budget that is nearly used up. */
async function team(stage: Stage) {
  const [owner, member, viewer] = [await stage.person(), await stage.person(0), await stage.person(0)];
  const page = await stage.open('/verify', { as: owner });
  const workspaceId = await createWorkspace(page, 'Team');
  const theirs = await stage.open('/verify', { as: member });
  const watching = await stage.open('/verify', { as: viewer });
  for (const [person, role, of] of [
    [member, 'member', theirs],
    [viewer, 'viewer', watching],
  ] as const) {
    await accept(of, await invite(page, workspaceId, person.email, role));
  }
  const nightly = await createKey(page, { name: 'nightly job', workspace_id: workspaceId, credit_limit_usd: 0.5 });
  const laptop = await createKey(theirs, { name: 'laptop', workspace_id: workspaceId });
  const set = await page.request.put(`/v1/workspaces/${workspaceId}/budgets`, { data: { limit_usd: 1.6 } });
  expect(set.status()).toBe(200);
  await use(stage, { ...owner, workspaceId }, [
    { keyId: nightly.id, usd: 1 },
    { keyId: laptop.id, usd: 0.5, model: 'beta/chat' },
    { keyId: laptop.id, usd: 0.25, model: 'beta/chat', daysAgo: 70 },
  ]);
  for (const each of [page, theirs, watching]) {
    await each.evaluate(`localStorage.setItem('sotto.workspace', '${workspaceId}')`);
    await each.goto('/');
    await each.getByRole('heading', overview).waitFor();
  }
  return { owner, page, theirs, watching };
}

await describeDashboard('the overview', (stage) => {
  it('shows its owner the spending, how long the balance lasts, and the largest models, keys and members', async () => {
    const { owner, page } = await team(stage);
    await expect.poll(() => tile(page, 'Spend today').textContent()).toBe('$1.502 requests');
    expect(await tile(page, 'Spend this month').textContent()).toMatch(/^\$1\.50(?:projected \$|projected from)/);
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
    await page.getByRole('heading', heading('Usage')).waitFor();
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
    const { id: keyId, workspace_id: workspaceId } = await createKey(page, { name: 'x' });
    const times = [0, 0, 0, 0, 0, 1, 1, 1, 3, 7];
    await use(stage, { ...person, workspaceId }, [
      ...times.map((firstToken) => ({ keyId, usd: 0.1, firstToken })),
      ...[0, 0].map(() => ({ keyId, usd: 0, status: 'failed', error: 'provider' }) as const),
    ]);
    await page.goto('/');
    await expect.poll(() => tile(page, 'Time to first token').textContent()).toBe('≤ 250 msp50; p90 ≤ 2 s');
    expect(await tile(page, 'Failed this month').textContent()).toBe('16.7%See them');
    await page.getByRole('link', { name: 'See them' }).click();
    await page.getByRole('heading', heading('Usage')).waitFor();
    expect(new URL(page.url()).searchParams.get('status')).toBe('failed');
  });

  it('stays for a workspace whose last request is some months old, and says that nothing needs attention', async () => {
    const person = await stage.person();
    const page = await stage.open('/', { as: person });
    await page.getByRole('heading', heading('First steps')).waitFor();
    const { id: keyId, workspace_id: workspaceId } = await createKey(page, { name: 'old' });
    await use(stage, { ...person, workspaceId }, [{ keyId, usd: 1, daysAgo: 200 }]);
    await page.reload();
    await page.getByRole('heading', overview).waitFor();
    await page.getByText('Nothing needs your attention.').waitFor();
    expect(await tile(page, 'Balance').textContent()).toContain('lasts over a year at this rate');
    expect(await page.getByText('No requests in these days.').count()).toBe(3);
  });

  it('asks for all that it shows at once, where it was shown before', async () => {
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    const { id: keyId, workspace_id: workspaceId } = await createKey(page, { name: 'x' });
    await use(stage, { ...person, workspaceId }, [{ keyId, usd: 1 }]);
    await page.goto('/');
    await page.getByText('at this rate').waitFor();
    await expect.poll(() => page.evaluate("localStorage.getItem('sotto.home')")).toContain(workspaceId);

    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith('/v1/')) asked.push(pathname + search);
    });
    const release = await holdBack(page, '**/v1/**');
    await page.reload();
    // No answer has come, so nothing can have waited for one.
    const last = [/group_by=key_id/, /group_by=model/, /measurements/, /members/, /billing\/settings/, /get-session/];
    await expect.poll(() => last.filter((one) => !asked.some((path) => one.test(path)))).toEqual([]);
    const atOnce = asked.length;
    release();
    await page.getByText('at this rate').waitFor();
    await card(page, 'Top members').getByText(person.email).waitFor();
    await page.getByRole('figure').locator('svg').first().waitFor();
    expect(asked.slice(atOnce)).toEqual([]);

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', heading('Sign in')).waitFor();
    expect(await page.evaluate("localStorage.getItem('sotto.home')")).toBe(null);
  });

  it('has a switcher that shows the workspace of a page about one, and leads to another that is chosen there', async () => {
    const page = await stage.open('/verify', { as: await stage.person() });
    const [first, second] = [await createWorkspace(page, 'North'), await createWorkspace(page, 'South')];
    await page.evaluate(`localStorage.setItem('sotto.workspace', '${first}')`);
    await page.goto(`/workspaces/${second}`);
    await page.getByRole('heading', heading('South')).waitFor();
    await page.getByRole('button', { name: 'Workspace: South' }).click();
    await page.getByRole('menuitem', { name: 'North' }).click();
    await page.getByRole('heading', heading('North')).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/workspaces/${first}`);
  });

  it('says what could not be loaded, and loads it again', async () => {
    const person = await stage.person();
    const page = await stage.open('/verify', { as: person });
    const { id: keyId, workspace_id: workspaceId } = await createKey(page, { name: 'x' });
    await use(stage, { ...person, workspaceId }, [{ keyId, usd: 1 }]);
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
    const name = 'a key with a name of a hundred characters '.repeat(3).slice(0, 100);
    const { id: keyId, workspace_id: workspaceId } = await createKey(own, { name });
    const days = Array.from({ length: 40 }, (_, index) => index);
    await use(
      stage,
      { ...owner, workspaceId },
      days.map((daysAgo) => ({
        keyId,
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
