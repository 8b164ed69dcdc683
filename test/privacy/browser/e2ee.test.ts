import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { type StandInEnclave, type StandInKind, standInEnclave, standInKinds } from '@sotto/client/testing';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasChromium, launchChromium } from '../../kit/chromium.ts';
import type { converse, GivenKey } from './page.ts';

const hasBrowser = hasChromium('end-to-end encryption in a browser');

describe.skipIf(!hasBrowser)('end-to-end encryption in a browser', () => {
  const enclaves = new Map<string, StandInEnclave>(standInKinds.map((kind) => [kind, standInEnclave(kind)]));
  let server: Server;
  let browser: Browser;
  let page: Page;
  const loaded: string[] = [];

  beforeAll(async () => {
    const scripts = await bundle();
    server = createServer((request, response) => {
      serve(request, response, scripts).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    browser = await launchChromium();
    page = await browser.newPage();
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.waitForFunction(() => 'converse' in globalThis);
  });

  afterAll(async () => {
    await browser?.close();
    server?.close();
  });

  async function serve(request: IncomingMessage, response: ServerResponse, scripts: ReadonlyMap<string, string>) {
    const path = request.url ?? '/';
    const enclave = enclaves.get(path.replace('/enclave/', ''));
    if (enclave !== undefined) {
      const body = Buffer.concat(await request.toArray());
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const answer = await enclave.answer({ headers, body });
      response.writeHead(answer.status, answer.headers);
      for (const piece of answer.pieces) response.write(piece);
      response.end();
      return;
    }
    const script = scripts.get(path);
    if (script === undefined) {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><title>test</title><script type="module" src="/page.js"></script>');
      return;
    }
    response.setHeader('content-type', 'text/javascript');
    response.end(script);
  }

  async function talk(kind: StandInKind, stream: boolean): Promise<string> {
    const key = enclaves.get(kind)?.nextKey();
    if (key === undefined) throw new Error(`no enclave ${kind}`);
    const given = { ...key, publicKey: [...key.publicKey] } as GivenKey;
    return page.evaluate(
      ([path, sent, asStream]) => {
        const inPage = globalThis as typeof globalThis & { readonly converse: typeof converse };
        return inPage.converse(path, sent, asStream);
      },
      [`/enclave/${kind}`, given, stream] as const,
    );
  }

  it("loads each family's code only when it is used", async () => {
    const families = () => loaded.filter((path) => path.includes('-family-'));
    expect(families()).toEqual([]);
    await talk('tinfoil', false);
    expect(families()).toEqual([expect.stringContaining('tinfoil')]);
  });

  it.each(standInKinds)('talks with %s', async (kind) => {
    expect(JSON.parse(await talk(kind, false))).toMatchObject({
      model: 'acme/small',
      choices: [{ message: { content: 'You said: Grüße, 世界' } }],
    });
    const events = (await talk(kind, true)).trim().split('\n\n');
    expect(events.pop()).toBe('data: [DONE]');
    const chunks = events.map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] });
    const content = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('');
    expect(content).toBe('You said: Grüße, 世界');
  });
});

/** The page's scripts by path, split as a server would deliver them. */
async function bundle(): Promise<ReadonlyMap<string, string>> {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page.ts', import.meta.url))],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'browser',
    conditions: ['@sotto/source'],
    outdir: '/',
    write: false,
    logLevel: 'silent',
  });
  return new Map(outputFiles.map(({ path, text }) => [`/${path.slice(path.lastIndexOf('/') + 1)}`, text]));
}
