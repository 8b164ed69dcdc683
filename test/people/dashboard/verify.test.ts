import { bindingSentences } from '@sotto/wire';
import type { Page, Route } from 'playwright-core';
import { expect, it } from 'vitest';
import { thoroughly } from '../../kit/thoroughly.ts';
import { describeDashboard, expectGoodLooks, type Stage } from './stage.ts';

await describeDashboard('verify', (stage) => {
  it('shows everyone the verdict, its basis and every check, and explains the value of simulated evidence', async () => {
    const page = await stage.open('/verify');
    await page.getByText('The evidence is simulated', { exact: true }).waitFor();
    await page.getByText('Untrusted', { exact: true }).first().waitFor();
    const failed = page.getByRole('list', { name: 'Failed' });
    expect(await failed.getByRole('listitem').count()).toBe(1);
    await failed.getByText('Hardware signed it').waitFor();
    await page.getByRole('list', { name: 'Skipped' }).getByText('gateway.tls_key').waitFor();
    await page.getByRole('list', { name: 'Skipped' }).getByText('gateway.channel').waitFor();
    await page.getByText(bindingSentences.none).waitFor();
    expect(
      await page
        .getByRole('list', { name: /^Verdicts/ })
        .locator('[aria-current]')
        .textContent(),
    ).toContain('Untrusted');
    await page.getByText(`npm run -s sotto -- verify ${brokerOrigin(stage)}`).waitFor();
    const runsTwo = stage.service.redisUrl !== undefined;
    expect(await page.getByText(/^Control and broker run in one process/).count()).toBe(runsTwo ? 0 : 1);
  });

  it('verifies again with a new nonce, and exports the report as `sotto verify --json` does', async () => {
    const page = await stage.open('/verify');
    const first = await report(page);
    expect(first).toMatchObject({ origin: brokerOrigin(stage), verdict: 'untrusted', tee_type: 'simulated' });
    await page.getByRole('button', { name: 'Verify again' }).click();
    await expect.poll(async () => (await report(page)).nonce).not.toBe(first.nonce);
    expect((await report(page)).nonce).toMatch(/^[0-9a-f]{64}$/);
  });

  it('names the check that a changed or replayed document fails', async () => {
    const page = await stage.open('/');
    let kept: unknown;
    await page.route('**/v1/gateway/attestation*', async (route) => {
      const answer = await route.fetch();
      kept ??= await answer.json();
      await route.fulfill({ response: answer, json: kept });
    });
    await page.goto('/verify');
    await page.getByText('The evidence is simulated', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Verify again' }).click();
    // Shows the same document again, which was made for another nonce.
    await page.getByRole('list', { name: 'Failed' }).getByText('simulated.signature').waitFor();
  });

  it('says why if there is nothing to verify', async () => {
    const page = await stage.open('/');
    const answer = (status: number) => (route: Route) =>
      route.fulfill({ status, headers: { 'access-control-allow-origin': '*' }, json: {} });
    await page.route('**/v1/gateway/attestation*', answer(404));
    await page.goto('/verify');
    await page.getByText('The service offers no attestation.').waitFor();
    await page.getByText('Unavailable', { exact: true }).first().waitFor();
    await page.unroute('**/v1/gateway/attestation*');
    await page.route('**/v1/gateway/attestation*', answer(503));
    await page.getByRole('button', { name: 'Verify again' }).click();
    await page.getByText('The service cannot produce evidence now. Retry shortly.').waitFor();
  });

  it('accepts your own pins, and refuses invalid ones', async () => {
    const page = await stage.open('/verify');
    await page.getByText('Use your own pins').click();
    await page.getByLabel('Pins, as JSON').fill('{"gateway": 1}');
    await page.getByRole('button', { name: 'Verify with these pins' }).click();
    await page.getByText(/^These pins are invalid: `gateway` must be an object/).waitFor();
    await page
      .getByLabel('Pins, as JSON')
      .fill(
        JSON.stringify({ gateway: { provider_registries: [`sha256:${'0'.repeat(64)}`] }, releases: [pinnedRelease] }),
      );
    await page.getByRole('button', { name: 'Verify with these pins' }).click();
    await page.getByText('This tab uses your own pins', { exact: false }).waitFor();
    await page.getByRole('list', { name: 'Failed' }).getByText('gateway.registry').waitFor();
    // The newest release that the pins know. Simulated evidence runs none.
    await page.getByText(/^0\.2\.0, logged /).waitFor();
    await page.getByText('Not known from your pins.').waitFor();
    expect(await report(page)).toMatchObject({ vendor: null, release: null, newest_release: pinnedRelease });
    await page.getByRole('button', { name: 'Use the pins of this build' }).click();
    await expect.poll(() => page.getByRole('list', { name: 'Failed' }).getByText('gateway.registry').count()).toBe(0);
  });

  it("asks for a provider's evidence with a key, and shows the service's answer if it has none", async () => {
    const visitor = await stage.open('/verify');
    await visitor.getByText('You need an inference key to get a provider’s evidence.').waitFor();
    const page = await stage.open('/verify?model=acme/wide', { as: await stage.person() });
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'Verify enclave' }).click();
    const found = page.getByRole('heading', { name: 'Verdict' }).nth(1);
    await found.waitFor();
    await page.getByText('Unavailable', { exact: true }).nth(1).waitFor();
    expect(await page.getByLabel('Provider').inputValue()).toBe('vault');
  });

  thoroughly('looks well', async () => {
    await expectGoodLooks(stage, {
      name: 'verify',
      path: '/verify',
      shown: (page) => page.getByRole('list', { name: 'Skipped' }).waitFor(),
    });
    await expectGoodLooks(stage, {
      name: 'verify-enclave',
      path: '/verify?model=acme/wide',
      as: await stage.person(),
      shown: async (page) => {
        await page.getByText('Use your own pins').click();
        await page.getByRole('button', { name: 'Create key' }).click();
        await page.getByRole('button', { name: 'Verify enclave' }).click();
        await page.getByText('Unavailable', { exact: true }).nth(1).waitFor();
      },
    });
  });
});

const pinnedRelease = {
  version: '0.2.0',
  commit: 'ab'.repeat(20),
  released_at: '2026-11-20T00:00:00Z',
  logged_at: '2026-11-20T00:00:00Z',
  log: 'log.example.com, entry 0',
  signed_by: { identity: 'https://github.com/example', issuer: 'https://issuer.example' },
  statement_sha256: 'cd'.repeat(32),
};

const brokerOrigin = ({ service }: Stage): string => new URL(service.baseUrl).origin;

async function report(page: Page): Promise<Record<string, unknown>> {
  await page.getByRole('button', { name: 'Copy the report as JSON' }).first().click();
  return JSON.parse(await page.evaluate<string>('navigator.clipboard.readText()'));
}
