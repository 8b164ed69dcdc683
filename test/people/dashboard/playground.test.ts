import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { answerChat, answerError, sendJson } from '../../kit/provider.ts';
import { thoroughly } from '../../kit/thoroughly.ts';
import { agree, openSetup, playgroundConsentSuite } from './playground-consent.suite.ts';
import { playgroundKeySuite } from './playground-key.suite.ts';
import { describeDashboard, expectGoodLooks, type Stage } from './stage.ts';

const secret = 'the marker of a question 5e1f';

await describeDashboard('playground', (stage) => {
  playgroundKeySuite(stage);
  playgroundConsentSuite(stage);

  it('asks privately: the key goes to control alone, the question to the broker alone, and the answer names its provider', async () => {
    stage.reset();
    const page = await stage.open('/playground?model=acme/small', { as: await stage.person() });
    const sent = listen(page);
    await page.getByText('Your first request creates one: for 12 hours, at most $1.00').waitFor();
    await page.getByText('The evidence is simulated. Confirm that you want to continue.').waitFor();
    await page.getByText('Untrusted', { exact: true }).waitFor();
    await page.getByRole('figure', { name: 'Who will learn what' }).waitFor();
    await page.getByRole('button', { name: /^Explain remote attestation/ }).click();
    expect(await page.getByLabel('Your question').inputValue()).toMatch(/^Explain remote attestation/);
    await question(page, secret);
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    // By keyboard alone: Enter leads to what is missing, agrees, and then sends.
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('button', { name: 'Send' }).isEnabled()).toBe(true);
    await page.keyboard.press('Enter');
    await page.getByText('Hello there, this is a provider.').waitFor();
    const facts = page.getByLabel('About this answer');
    const shown = (await facts.textContent()) ?? '';
    for (const part of ['acme/small', 'Private', 'simulated', '10 in, 20 out', '<$0.0001', 'First token']) {
      expect(shown).toContain(part);
    }
    const receipt = page.getByRole('figure', { name: 'Privacy receipt' });
    const opens = async (box: RegExp, evidence: RegExp): Promise<void> => {
      await receipt.getByRole('button', { name: box }).click();
      await receipt.getByText(evidence).waitFor();
    };
    await opens(/^You/, /sent the key to control only\. It sent the content to http/);
    await opens(/^Control/, /a single-use ticket, which names no account/);
    await opens(/^Broker.*simulated, not verified/, /no hardware signed it, and it proves nothing about the machine/);
    await receipt.getByText(/^\d+ checks: \d+ passed, 1 failed/).click();
    await receipt.getByRole('list', { name: 'Failed' }).getByText('simulated.hardware', { exact: true }).waitFor();
    await opens(/^Provider: acme.*private, by contract/, /There is no technical evidence for this tier/);
    // Nothing was verified here, so nothing says that it was.
    expect(await receipt.textContent()).not.toMatch(/verified: /);
    // The exact cost shows on hover.
    expect(await facts.getByTitle('$0.000035').count()).toBe(1);
    const [key] = await keys(page);
    expect(key).toMatchObject({ name: 'Playground', kind: 'inference', credit_limit_usd: 1, openai_compatible: false });
    const hoursLeft = (Date.parse(String(key?.expires_at)) - Date.now()) / 3_600_000;
    expect(hoursLeft).toBeGreaterThan(11);
    expect(hoursLeft).toBeLessThanOrEqual(12);
    await page.getByText('It works only in the private flow.').waitFor();
    // It is not sent with content, also not where the reader chooses to.
    await page.getByRole('radio', { name: /^Compatibility mode/ }).check();
    await page.getByText('Compatibility mode needs a key that allows it.').waitFor();
    for (const { origin, headers, body } of sent) {
      const isControl = origin === stage.origin;
      if (isControl) expect(body).not.toContain(secret);
      else expect(headers.authorization).toBeUndefined();
    }
    expect(sent.some(({ origin, body }) => origin !== stage.origin && body.includes(secret))).toBe(true);
    expect(await storage(page)).not.toContain(secret);
  });

  it('says where content is typed that control serves the page, and leads to a page that control does not serve', async () => {
    const page = await stage.open('/playground', { as: await stage.person() });
    for (const [mode, field] of [
      ['Chat', 'Your question'],
      ['Image', 'What should it show?'],
      ['Speech', 'Text to speak'],
    ] as const) {
      await page.getByRole('tab', { name: mode }).click();
      await page.getByLabel(field).waitFor();
      await page
        .getByText('A malicious control could serve a page that reads what you type here.', { exact: false })
        .waitFor();
    }
    await page.getByRole('link', { name: 'Use your own client' }).click();
    await page.getByRole('heading', { name: 'Playground', level: 2 }).waitFor();
    await page.getByText('sotto -- playground').first().waitFor();
  });

  it('continues the conversation, also after a visit to another page, and forgets it on request', async () => {
    stage.reset();
    const page = await ready(stage, '/playground?model=acme/small');
    await ask(page, 'First question');
    await page.getByText('Hello there, this is a provider.').waitFor();
    await page.getByRole('link', { name: 'Routing' }).click();
    await page.getByRole('heading', { level: 1, name: 'Routing' }).waitFor();
    await page.getByRole('link', { name: 'Playground' }).click();
    await ask(page, 'Second question');
    await page.getByText('Hello there, this is a provider.').nth(1).waitFor();
    const seen = stage.provider('acme').seen.at(-1);
    expect(seen?.body.messages).toEqual([
      { role: 'user', content: 'First question' },
      { role: 'assistant', content: 'Hello there, this is a provider.' },
      { role: 'user', content: 'Second question' },
    ]);
    await page.getByRole('button', { name: 'Clear' }).click();
    expect(await page.getByText('First question').count()).toBe(0);
  });

  it('does not repeat by a weaker way what went by a stronger one', async () => {
    stage.reset();
    const page = await ready(stage, '/playground?model=acme/small');
    await page.getByLabel('Continue with simulated evidence').check();
    await ask(page, 'My secret');
    await page.getByText('Hello there, this is a provider.').waitFor();
    await page.getByRole('radio', { name: /^Compatibility mode/ }).check();
    await page.getByText(/^1 earlier exchange went in a more private mode/).waitFor();
    expect(await page.getByRole('button', { name: 'Ask again' }).count()).toBe(0);
    const sent = page.waitForRequest(`${stage.service.baseUrl}/chat/completions`);
    await ask(page, 'Thanks');
    const request = await sent;
    expect(request.headers().authorization).toMatch(/^Bearer sotto_inf_/);
    expect(request.postData()).not.toContain('My secret');
    await page.getByText('Hello there, this is a provider.').nth(1).waitFor();
    await page.getByRole('radio', { name: /^Private flow/ }).check();
    await ask(page, 'More');
    await page.getByText('Hello there, this is a provider.').nth(2).waitFor();
    expect(JSON.stringify(stage.provider('acme').seen.at(-1)?.body.messages)).toContain('My secret');
  });

  it('streams, can be stopped, and asks again', async () => {
    const pieces = Array.from({ length: 200 }, (_, index) => `word${String(index)} `);
    stage.provider('acme').answer(answerChat({ pieces, pieceMs: 50 }));
    const page = await ready(stage, '/playground?model=acme/small&way=compatibility');
    await ask(page, 'Talk');
    await page.getByText(/word3/).waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText(/^Stopped\./).waitFor();
    expect(await page.getByText(/word199/).count()).toBe(0);
    stage.reset();
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByText('Hello there, this is a provider.').waitFor();
    expect(await page.getByText(/word3/).count()).toBe(0);
    await page.getByText('compatibility, not verified').waitFor();
    const receipt = page.getByRole('figure', { name: 'Privacy receipt' });
    await receipt.getByText('nothing from your browser').waitFor();
    await receipt.getByRole('button', { name: /^Broker.*Key and content together/ }).click();
    await receipt.getByText(/^Not verified\. In compatibility mode/).waitFor();
  });

  it("sends the chosen parameters, and shows a model's text unchanged", async () => {
    const content = 'Look <img src=x onerror=alert(1)>:\n```html\n<b>bold</b>\n```\nDone.';
    stage.provider('acme').answer(answerChat({ pieces: content.split(/(?= )/) }));
    const page = await ready(stage, '/playground?model=acme/thinker');
    await page.getByText('Parameters').click();
    await page.getByLabel('System prompt').fill('Be brief.');
    await page.getByLabel('Temperature').fill('3');
    await page.getByText('Correct the marked parameter.').waitFor();
    await page.getByLabel('Temperature').fill('0.5');
    await page.getByLabel('Max output tokens').fill('50');
    await page.getByLabel('Reasoning effort').selectOption('low');
    await page.getByLabel('Provider').selectOption('Only acme');
    await page.getByLabel('Minimum privacy').selectOption('Private or stronger');
    await ask(page, 'Show me');
    await page.getByText('<b>bold</b>').waitFor();
    await page.getByText('Look <img src=x onerror=alert(1)>:').waitFor();
    expect(stage.provider('acme').seen.at(-1)?.body).toMatchObject({
      temperature: 0.5,
      reasoning_effort: 'low',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Show me' },
      ],
    });
    stage.reset();
  });

  it('folds its setup to a line on a phone once there is a key, and shows the choices', async () => {
    stage.reset();
    const page = await stage.open('/playground?model=acme/small&way=compatibility', {
      as: await stage.person(),
      width: 360,
    });
    const setup = page.getByRole('button', { name: /^Setup/ });
    expect(await setup.getAttribute('aria-expanded')).toBe('true');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByRole('button', { name: 'Setup', expanded: false }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Setup Compatibility mode · acme/small' }).waitFor();
    expect(await page.getByLabel('Model', { exact: true }).isVisible()).toBe(false);
    await page.getByLabel('Your question').waitFor();
    await setup.press('Enter');
    await page.getByLabel('Model', { exact: true }).waitFor();
    const wide = await stage.open('/playground', { as: await stage.person() });
    await wide.getByLabel('Model', { exact: true }).waitFor();
    expect(await wide.getByRole('button', { name: /^Setup/ }).isVisible()).toBe(false);
  });

  it('says how to handle each failure', async () => {
    stage.reset();
    const poor = await stage.open('/playground?model=acme/small&way=compatibility', { as: await stage.person(0) });
    await poor.getByRole('button', { name: 'Create key' }).click();
    await ask(poor, 'Hello');
    await poor.getByText('insufficient_balance').waitFor();
    expect(await poor.getByRole('alert').getByRole('link', { name: 'Billing' }).getAttribute('href')).toBe('/billing');

    const page = await ready(stage, '/playground?model=beta/chat');
    await page.getByText('Parameters').click();
    await page.getByLabel('Minimum privacy').selectOption('TEE or stronger');
    await ask(page, 'Hello');
    await page.getByText('no_provider_route_meets_privacy').waitFor();
    await page.getByRole('alert').getByRole('link', { name: 'Routing' }).waitFor();

    await page.getByLabel('Minimum privacy').selectOption('The workspace’s');
    stage.provider('beta').answer(answerError(429, {}, { 'retry-after': '7' }));
    await ask(page, 'Hello');
    await page.getByText(/Try again in \d+ seconds?\./).waitFor();

    stage.provider('beta').answer((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const chunk = { id: 'x', created: 1, model: request.body.model, object: 'chat.completion.chunk' };
      const choices = [{ index: 0, delta: { content: 'Half an' }, finish_reason: null }];
      response.write(`data: ${JSON.stringify({ ...chunk, choices })}\n\n`);
      setTimeout(() => response.destroy(), 100);
    });
    await ask(page, 'Hello');
    await page.getByText('Half an').waitFor();
    await page.getByRole('alert').last().getByText('provider_error').waitFor();
    stage.reset();
  });

  it('sends nothing to a machine with invalid evidence, and names the check', async () => {
    stage.reset();
    const page = await stage.open('/', { as: await stage.person() });
    await page.route('**/v1/gateway/attestation*', async (route) => {
      const answer = await route.fetch();
      const document = await answer.json();
      await route.fulfill({ response: answer, json: { ...document, key_set: { ...document.key_set, not_after: 1 } } });
    });
    await page.goto('/playground?model=acme/small');
    await page.getByText(/gateway\.key_set_validity/).waitFor();
    await page.getByText('Content is sent only to a verified machine.').waitFor();
    await question(page, secret);
    await page.keyboard.press('Enter');
    expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
    expect(await page.getByLabel('Continue with simulated evidence', { exact: false }).count()).toBe(0);
    expect(stage.provider('acme').seen).toEqual([]);
  });

  it('offers encryption for models with such a route, and shows why it is unavailable', async () => {
    const page = await stage.open('/', { as: await stage.person() });
    await page.route('**/v1/catalog/models', async (route) => {
      const answer = await route.fetch();
      const list = await answer.json();
      for (const model of list.data) {
        if (model.id === 'acme/small')
          model.provider_routes.push({ ...model.provider_routes[0], privacy_class: 'e2ee' });
      }
      await route.fulfill({ response: answer, json: list });
    });
    await page.goto('/playground?model=acme/small&way=e2ee');
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
    await ask(page, secret);
    await page.getByText('no_provider_route_meets_privacy').waitFor();
    expect(stage.provider('acme').seen.filter(({ text }) => text.includes(secret))).toEqual([]);
  });

  it('creates an image and speech by ticket, and shows the price before', async () => {
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
    stage.provider('beta').answer((request, response) => {
      if (request.path.endsWith('/images/generations'))
        return sendJson(response, 200, { created: 1, data: [{ b64_json: pixel }] });
      response
        .writeHead(200, { 'content-type': 'audio/mpeg', 'content-length': '4' })
        .end(Buffer.from([255, 251, 144, 0]));
    });
    const page = await ready(stage, '/playground?mode=image');
    await page.getByText('$0.04 an image.').waitFor();
    await page.getByLabel('What should it show?').fill('A red square');
    await page.getByLabel('Size').selectOption('512 × 512');
    await page.getByRole('button', { name: 'Generate image' }).click();
    await page.getByRole('img', { name: 'A red square' }).waitFor();
    expect(await page.getByRole('link', { name: 'Download' }).getAttribute('href')).toMatch(/^blob:/);
    expect(stage.provider('beta').seen.at(-1)?.body).toMatchObject({ prompt: 'A red square', size: '512x512' });

    await page.getByRole('tab', { name: 'Speech' }).click();
    await page.getByLabel('Text to speak').fill('Hello');
    await page.getByText('5 of 20,000 characters', { exact: false }).waitFor();
    await page.getByLabel('Voice').fill('alloy');
    await page.getByRole('button', { name: 'Speak' }).click();
    await page.locator('audio').waitFor();
    expect(stage.provider('beta').seen.at(-1)?.body).toMatchObject({ input: 'Hello', voice: 'alloy' });
    stage.reset();
  });

  it('revokes its key, accepts an existing one, and leaves none behind after signing out', async () => {
    const page = await ready(stage, '/playground?model=acme/small');
    await page.getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Choose a key instead').click();
    expect((await keys(page)).every(({ revoked_at }) => revoked_at !== null)).toBe(true);
    await page.getByText('Use an existing key').click();
    await page.getByLabel('Inference key').fill('sotto_mgt_nope');
    await page.getByText('An inference key begins with sotto_inf_.').waitFor();
    await page.getByLabel('Inference key').fill(`sotto_inf_${'a'.repeat(43)}`);
    await page.getByRole('button', { name: 'Use it' }).click();
    await ask(page, 'Hello');
    await page.getByText('Create another key, or choose one of yours.').waitFor();
    await page.getByRole('button', { name: 'Account', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    expect(await storage(page)).not.toContain('sotto_inf_');
  });

  thoroughly('looks well', async () => {
    stage.reset();
    const content =
      'A function that adds two numbers, and what it returns:\n```ts\nexport const add = (left: number, right: number): number => left + right; // and a line that is long enough to scroll\n```\nCall it as `add(1, 2)`.';
    stage.provider('acme').answer(answerChat({ pieces: content.split(/(?= )/) }));
    // Each look signs in four times, which is close to the limit for one person.
    await expectGoodLooks(stage, {
      name: 'playground-empty',
      path: '/playground?model=acme/thinker',
      as: await stage.person(),
      shown: async (page) => {
        await openSetup(page);
        await page.getByText('Untrusted', { exact: true }).waitFor();
        await page.getByText('Parameters').click();
      },
    });
    await expectGoodLooks(stage, {
      name: 'playground-chat',
      // The receipt is drawn side by side only where the conversation is wide.
      widths: [360, 1440],
      path: '/playground?model=acme/small',
      as: await stage.person(),
      shown: async (page) => {
        await agree(page).click();
        await ask(page, 'Write a function that adds two numbers, please, and say how it is called.');
        await page.getByText('The answer is complete.').waitFor({ state: 'attached' });
        await openSetup(page);
        await page.getByText('Parameters').click();
        await page.getByLabel('Minimum privacy').selectOption('TEE or stronger');
        await ask(page, 'And in an enclave?');
        await page.getByText('no_provider_route_meets_privacy').waitFor();
      },
    });
    stage.reset();
    await expectGoodLooks(stage, {
      name: 'playground-image',
      path: '/playground?mode=image',
      as: await stage.person(),
      shown: async (page) => {
        await openSetup(page);
        await page.getByText('Untrusted', { exact: true }).waitFor();
      },
    });
  });
});

interface Sent {
  readonly origin: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

function listen(page: Page): readonly Sent[] {
  const sent: Sent[] = [];
  page.on('request', (request) => {
    sent.push({ origin: new URL(request.url()).origin, headers: request.headers(), body: request.postData() ?? '' });
  });
  return sent;
}

/** The playground with a key. It accepts simulated evidence where something is verified. */
async function ready(stage: Stage, path: string): Promise<Page> {
  const page = await stage.open(path, { as: await stage.person() });
  if (!path.includes('compatibility')) await page.getByText('Choose a key instead').click();
  await page.getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Created for this tab', { exact: false }).waitFor();
  if (!path.includes('compatibility')) {
    await page.getByLabel('Continue with simulated evidence', { exact: false }).check();
  }
  return page;
}

const question = (page: Page, text: string): Promise<void> => page.getByLabel('Your question').fill(text);

async function ask(page: Page, text: string): Promise<void> {
  await question(page, text);
  await page.getByRole('button', { name: 'Send' }).click();
}

const keys = (page: Page): Promise<readonly Record<string, unknown>[]> =>
  page.evaluate("fetch('/v1/keys').then((answer) => answer.json()).then(({ data }) => data)");

const storage = (page: Page): Promise<string> =>
  page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])');
