import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { acme } from '../../kit/conformance.ts';
import { buildPlayground } from '../../kit/playground.ts';
import { answerChat, answerError, sendJson } from '../../kit/provider.ts';
import { type RecordingProxy, startRecordingProxy } from '../../kit/recording-proxy.ts';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { expectGoodLooks, hasBrowser, useBrowser } from '../../people/dashboard/stage.ts';

const canary = 'CANARY-OF-A-PROMPT-7d1c';
const answer = 'Hello there, this is a provider.';

await describeStage(
  'the page of sotto playground',
  { ...acme, features: ['images', 'speech', 'evidence'] },
  (stage) => {
    let control: RecordingProxy;
    let start: () => SottoRun;
    let playground: SottoRun;
    /** With its path and the token. */
    let address: string;
    let inferenceKey: string;
    beforeAll(async () => {
      await buildPlayground();
      control = await startRecordingProxy(stage.service.controlUrl);
      ({ inferenceKey } = await stage.service.createAccount());
      const origins = ['--base-url', stage.service.baseUrl, '--control-url', control.url];
      start = () => runSotto(['playground', ...origins, '--allow-simulated'], { INFERENCE_KEY: inferenceKey });
      playground = start();
      address = await addressOf(playground);
    });
    afterAll(async () => {
      playground?.child.kill('SIGKILL');
      await playground?.ended;
      control?.close();
    });
    afterEach(() => stage.reset());
    // The browser fails each test whose page asks another origin, breaks its policy, or writes an error.
    const browser = useBrowser(() => ({ control: new URL(address).origin, broker: new URL(address).origin }));
    const open = (): Promise<Page> => browser.open(address);

    it('asks a question; the prompt never reaches control, the key never reaches the page or the broker', async () => {
      const page = await open();
      const sent: string[] = [];
      page.on('request', (request) => sent.push(JSON.stringify([request.headers(), request.postData()])));
      await page.getByText('The script of this page comes from the sotto command', { exact: false }).waitFor();
      await ask(page, canary);
      await page.getByText(answer).waitFor();
      const shown = (await page.getByLabel('About this answer').textContent()) ?? '';
      for (const part of ['acme', 'Private', 'Untrusted', 'simulated', '10 in, 20 out']) expect(shown).toContain(part);
      const receipt = page.getByRole('figure', { name: 'Privacy receipt' });
      await receipt.getByRole('button', { name: /^You/ }).click();
      await receipt.getByText('The sotto command sent the key to control only.', { exact: false }).waitFor();
      await receipt.getByRole('button', { name: /^Broker.*simulated, not verified/ }).click();
      await receipt
        .getByText(`The sotto command verified ${new URL(stage.service.baseUrl).origin}`, { exact: false })
        .waitFor();

      expect(stage.provider('acme').seen.at(-1)?.text).toContain(canary);
      expect(control.heard()).toContain(inferenceKey);
      expect(control.heard()).not.toContain(canary);
      expect(stage.service.logs()).not.toContain(canary);
      expect(sent.join()).toContain(canary);
      const html = await page.evaluate<string>(
        'document.documentElement.outerHTML + JSON.stringify({ ...sessionStorage })',
      );
      expect(sent.join() + html).not.toContain(inferenceKey);
    });

    it('takes the token out of the address, and keeps it over a reload', async () => {
      const page = await open();
      await page.getByLabel('Your question').waitFor();
      expect(page.url()).toBe(`${new URL(address).origin}/`);
      await page.reload();
      await page.getByLabel('Your question').waitFor();
    });

    it('without the token it shows no models, and says where the address is', async () => {
      const page = await browser.open('/');
      await page
        .getByText('Open the address that sotto playground printed when it started.', { exact: false })
        .waitFor();
      expect(await page.getByLabel('Your question').count()).toBe(0);
    });

    it('streams, can be stopped, and continues the conversation', async () => {
      const pieces = Array.from({ length: 200 }, (_, index) => `word${String(index)} `);
      stage.provider('acme').answer(answerChat({ pieces, pieceMs: 50 }));
      const page = await open();
      await chooseModel(page, 'acme/small');
      await ask(page, 'Talk');
      await page.getByText(/word3/).waitFor();
      await page.getByRole('button', { name: 'Stop' }).click();
      await page.getByText(/^Stopped\./).waitFor();
      stage.reset();
      await ask(page, 'Go on');
      await page.getByText(answer).waitFor();
      expect(JSON.stringify(stage.provider('acme').seen.at(-1)?.body.messages)).toMatch(/Talk.*word3.*Go on/);
    });

    it('has the command encrypt, or send nothing, and offers no compatibility mode', async () => {
      const page = await open();
      await page.route('**/v1/models', async (route) => {
        const answer = await route.fetch();
        const list = await answer.json();
        for (const model of list.data) {
          const [first] = model.provider_routes;
          if (model.id === 'acme/small') model.provider_routes.push({ ...first, privacy_class: 'e2ee' });
        }
        await route.fulfill({ response: answer, json: list });
      });
      await page.reload();
      await chooseModel(page, 'acme/small');
      await page.getByRole('radio', { name: /^End-to-end encrypted/ }).check();
      expect(await page.getByRole('radio', { name: /^Compatibility mode/ }).count()).toBe(0);
      await ask(page, canary);
      await page.getByText('no_provider_route_meets_privacy').waitFor();
      expect(stage.provider('acme').seen).toEqual([]);
      expect(control.heard()).not.toContain(canary);
    });

    it('says how to handle a failure, and links to the dashboard in another tab', async () => {
      stage.provider('flaky').answer(answerError(500));
      const page = await open();
      await chooseModel(page, 'flaky/chat');
      await ask(page, 'Hello');
      const alert = page.getByRole('alert');
      await alert.getByText('Failed attempts are free.', { exact: false }).waitFor();
      const link = alert.getByRole('link', { name: 'provider_error' });
      const controlOrigin = new URL(control.url).origin;
      expect(await link.getAttribute('href')).toBe(`${controlOrigin}/guides/reference/errors#types-provider_error`);
      expect(await link.getAttribute('rel')).toBe('noopener noreferrer');
    });

    it('creates an image', async () => {
      const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
      stage
        .provider('beta')
        .answer((_, response) => sendJson(response, 200, { created: 1, data: [{ b64_json: pixel }] }));
      const page = await open();
      await page.getByRole('tab', { name: 'Image' }).click();
      await page.getByText('The script of this page comes from the sotto command', { exact: false }).waitFor();
      await page.getByLabel('What should it show?').fill(canary);
      await page.getByRole('button', { name: 'Generate image' }).click();
      await page.getByRole('img', { name: canary }).waitFor();
      expect(control.heard()).not.toContain(canary);
    });

    it('says that the command has ended, and keeps the conversation', async () => {
      const running = address;
      const other = start();
      address = await addressOf(other);
      const page = await open();
      await ask(page, 'Hello');
      await page.getByText(answer).waitFor();
      other.child.kill('SIGTERM');
      expect(await other.ended).toBe(0);
      await ask(page, 'Are you there?');
      await page
        .getByText('does not answer. Start it again, and open the address that it prints.', { exact: false })
        .waitFor();
      await page.getByText(answer).waitFor();
      address = running;
    });

    thoroughly('looks well', async () => {
      await expectGoodLooks(
        { open: (_, options) => browser.open(address, options) },
        {
          name: 'playground-own',
          path: '/',
          widths: [390, 1440],
          shown: async (page) => {
            await ask(page, 'Write a function that adds two numbers, please.');
            await page.getByText('The answer is complete.').waitFor({ state: 'attached' });
            const folded = page.getByRole('button', { name: /^Setup/, expanded: false });
            if (await folded.isVisible()) await folded.click();
          },
        },
      );
    });
  },
  { able: hasBrowser() },
);

async function addressOf(playground: SottoRun): Promise<string> {
  const [, address = ''] = await playground.outMatches(/^(http\S+)\n/);
  return address;
}

async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel('Your question').fill(text);
  await page.getByRole('button', { name: 'Send' }).click();
}

async function chooseModel(page: Page, id: string): Promise<void> {
  const model = page.getByLabel('Model', { exact: true });
  await model.click();
  await model.fill(id);
  await model.press('Enter');
}
