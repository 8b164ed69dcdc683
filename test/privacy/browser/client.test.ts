import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { echo, type StandInService, startStandIn } from '../../contract/own-client/stand-in.ts';
import { hasChromium, launchChromium } from '../../kit/chromium.ts';

const hasBrowser = hasChromium('our client in a browser');

/** The client as a page loads it: in development, or as published. */
async function bundle(published: boolean): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    stdin: {
      contents: "import * as client from '@sotto/client'; globalThis.client = client;",
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['@sotto/source'],
    define: published ? { SOTTO_SIMULATION: 'false' } : {},
    outdir: '/',
    write: false,
    logLevel: 'silent',
  });
  return new Map(outputFiles.map(({ path, text }) => [path.slice(path.lastIndexOf('/') + 1), text]));
}

describe.skipIf(!hasBrowser)('our client in a browser', () => {
  const scripts = new Map<string, ReadonlyMap<string, string>>();
  let service: StandInService;
  let server: Server;
  let browser: Browser;
  beforeAll(async () => {
    scripts.set('development', await bundle(false));
    scripts.set('published', await bundle(true));
    service = await startStandIn({ forPages: true });
    service.onBroker(echo);
    server = createServer((request, response) => {
      const [, kind = '', name = ''] = (request.url ?? '').split('/');
      const script = scripts.get(kind)?.get(name);
      response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
      response.end(script ?? `<!doctype html><script type="module" src="/${kind}/stdin.js"></script>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser?.close();
    server?.close();
    await service?.stop();
  });

  async function pageWith(kind: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/${kind}/`);
    await page.waitForFunction(() => 'client' in globalThis);
    return page;
  }
  const asked = (stream: boolean, options = 'allowSimulated: true'): string => `(async () => {
    const { createPrivateFetch } = globalThis.client;
    const body = JSON.stringify({ model: 'acme/small', stream: ${stream}, messages: [{ role: 'user', content: 'CONTENT' }] });
    try {
      const fetch = createPrivateFetch({
        apiKey: 'key', controlOrigin: '${service.controlUrl}', baseOrigin: '${service.baseUrl}', ${options},
      });
      const answer = await fetch('${service.baseUrl}/chat/completions', { method: 'POST', body });
      return await answer.text();
    } catch (error) {
      return error.code + ': ' + error.message;
    }
  })()`;

  it('verifies, then sends requests, whole and streamed; the key goes to the control origin alone', async () => {
    const page = await pageWith('development');
    expect(JSON.parse(await page.evaluate<string>(asked(false)))).toMatchObject({
      choices: [{ message: { content: 'You said: CONTENT' } }],
    });
    expect(await page.evaluate<string>(asked(true))).toMatch(/^data: .*data: \[DONE\]\n\n$/s);
    expect(service.evidenceCalls()).toBe(2);
    expect(
      service.broker.every(({ headers }) => headers.authorization === undefined && headers.cookie === undefined),
    ).toBe(true);
    expect(JSON.stringify(service.control)).not.toContain('CONTENT');
  });

  it('cannot accept simulated evidence in its published form', async () => {
    const before = service.broker.length;
    const page = await pageWith('published');
    expect(await page.evaluate<string>(asked(false))).toMatch(/^option_invalid: .*`allowSimulated` is unknown/);
    expect(await page.evaluate<string>(asked(false, 'ticketsAhead: 0'))).toMatch(
      /^attestation_untrusted: .*cryptographically_checked is required/,
    );
    expect(service.broker).toHaveLength(before);
  });

  it('reports that it sees neither the TLS key nor what the connection exports', async () => {
    const page = await pageWith('published');
    const report = await page.evaluate<{ gateway: { tlsKeySeen: boolean; binding: string; checks: object[] } }>(
      `globalThis.client.verify('${service.baseUrl}')`,
    );
    expect(report.gateway).toMatchObject({ tlsKeySeen: false, binding: 'none' });
    expect(report.gateway.checks).toContainEqual({
      name: 'gateway.channel',
      outcome: 'not_made',
      reason: 'the connection exports no value here, as in browsers and without TLS',
    });
    expect(report.gateway.checks).toContainEqual({
      name: 'gateway.tls_key',
      outcome: 'not_made',
      reason: 'the TLS key of the connection cannot be seen here',
    });
  });
});
