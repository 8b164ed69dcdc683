import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildPlayground } from '../../kit/playground.ts';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, marker, messages, model } from './stages.ts';
import { echo, json } from './stand-in.ts';

const run = promisify(execFile);
const stage = new CommandStage();
const built = fileURLToPath(new URL('../../../packages/client/playground/', import.meta.url));

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
}

describe('sotto playground', () => {
  let playground: SottoRun;
  let origin: string;
  let token: string;
  let sha256: string;
  beforeAll(async () => {
    await buildPlayground();
    playground = runSotto(['playground', ...stage.atService()], { INFERENCE_KEY: apiKey });
    [, origin = '', token = '', sha256 = ''] = await playground.outMatches(
      /^(http:\/\/127\.0\.0\.1:\d+)\/#(sotto_local_[\w-]{32})\nSHA-256 of the page: ([0-9a-f]{64})\n$/,
    );
  });
  afterAll(async () => {
    playground.child.kill('SIGKILL');
    await playground.ended;
  });

  /** Sends what `fetch` cannot: hosts, origins and paths of our choice. */
  const send = (path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { port } = new URL(origin);
      const method = body === undefined ? 'GET' : 'POST';
      request({ port, host: '127.0.0.1', path, headers, method }, async (response) => {
        const text = Buffer.concat(await response.toArray()).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
      })
        .on('error', reject)
        .end(body);
    });
  const chat = JSON.stringify({ model, messages });
  /** The headers of the page’s own requests, as browsers send them. */
  const own = () => ({ authorization: `Bearer ${token}`, origin, 'sec-fetch-site': 'same-origin' });

  it('serves its page with a policy that lets it run its own scripts and speak to this server alone', async () => {
    const page = await send('/');
    const [, script = ''] = /src="(\/assets\/[\w.-]+\.js)"/.exec(page.text) ?? [];
    const files = [page, await send(script), await send('/favicon.svg')];
    expect(files.map(({ status, headers }) => [status, headers['content-type']])).toEqual([
      [200, 'text/html; charset=utf-8'],
      [200, 'text/javascript; charset=utf-8'],
      [200, 'image/svg+xml'],
    ]);
    expect(page.text.match(/<script[^>]*>/g)).toEqual([`<script type="module" crossorigin src="${script}">`]);
    const answers = [
      ...files,
      await send('/v1/playground/standing', own()),
      await send('/nowhere'),
      await send('/v1/models'),
    ];
    for (const { headers } of answers) {
      expect(headers['content-security-policy']).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      );
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['referrer-policy']).toBe('no-referrer');
      expect(headers['cross-origin-resource-policy']).toBe('same-origin');
    }
  });

  it('prints the digest that the tools of the machine compute over the files', async () => {
    const list = "find . -type f ! -name '.*' | LC_ALL=C sort | xargs sha256sum | sha256sum";
    expect((await run('sh', ['-c', list], { cwd: built })).stdout).toBe(`${sha256}  -\n`);
  });

  it('answers its page, and control learns no content', async () => {
    const answer = await send('/v1/chat/completions', { ...own(), 'content-type': 'application/json' }, chat);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      200,
      { choices: [{ message: { content: `You said: ${marker}` } }] },
    ]);
    expect(JSON.stringify(stage.service.control)).not.toContain(marker);
    expect(JSON.stringify(stage.service.control)).toContain(apiKey);
    expect(JSON.stringify(stage.service.broker)).toContain(marker);
    expect(JSON.stringify(stage.service.broker)).not.toContain(apiKey);
    expect(JSON.stringify([...stage.service.broker, ...stage.service.control])).not.toContain(token);
  });

  it('tells its page what it verified, and nothing secret', async () => {
    const { status, text } = await send('/v1/playground/standing', own());
    expect([status, JSON.parse(text)]).toMatchObject([
      200,
      {
        controlOrigin: new URL(stage.service.controlUrl).origin,
        e2eeOnly: false,
        isOneProcess: true,
        gateway: { origin: stage.service.baseOrigin, verdict: 'untrusted', teeType: 'simulated' },
        enclaves: [],
      },
    ]);
    expect(text).not.toContain(apiKey);
  });

  it.each<[string, () => Record<string, string>]>([
    ['another name of this machine', () => ({ ...own(), host: 'localhost' })],
    [
      'a foreign name that resolves to this machine',
      () => ({ ...own(), host: `evil.example:${new URL(origin).port}` }),
    ],
    ['the page of another origin', () => ({ ...own(), origin: 'https://evil.example' })],
    ['the page of another port', () => ({ ...own(), origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' })],
    ['a page without an origin', () => ({ ...own(), origin: 'null' })],
    ['a read by the page of another port', () => ({ authorization: `Bearer ${token}`, 'sec-fetch-site': 'same-site' })],
    ['its page without the token', () => ({ origin, 'sec-fetch-site': 'same-origin' })],
    ['its page with another token', () => ({ ...own(), authorization: 'Bearer sotto_local_guess' })],
    ['a cookie in place of the token', () => ({ origin, 'sec-fetch-site': 'same-origin', cookie: `token=${token}` })],
  ])('refuses %s', async (_, headers) => {
    const refusals = [
      await send('/v1/playground/standing', headers()),
      await send('/v1/models', headers()),
      await send('/v1/chat/completions', headers(), chat),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([403, 403, 403]);
    for (const { text } of refusals) expect(JSON.parse(text)).toMatchObject({ error: { type: 'forbidden' } });
    expect(stage.service.broker).toEqual([]);
    expect(JSON.stringify(stage.service.control)).not.toContain(marker);
  });

  it.each(['localhost', 'evil.example'])('does not show its page under the name %s', async (name) => {
    for (const path of ['/', '/index.html', '/favicon.svg']) {
      expect((await send(path, { host: `${name}:${new URL(origin).port}` })).status).toBe(403);
    }
  });

  it.each(['/../package.json', '/assets/..%2f..%2fpackage.json', '/.sources', '/assets/', '/playground.html'])(
    'serves no other file: %s',
    async (path) => {
      expect((await send(path, own())).status).toBe(404);
    },
  );

  it('passes on no header that steers a browser', async () => {
    stage.service.onBroker((_, response) =>
      json(
        response,
        200,
        {},
        {
          'set-cookie': 'a=b',
          'access-control-allow-origin': '*',
          'content-security-policy': "default-src 'unsafe-inline'",
          'reporting-endpoints': 'all="https://evil.example"',
          refresh: '0; url=https://evil.example',
          'x-router-provider': 'acme',
        },
      ),
    );
    const { status, headers } = await send('/v1/chat/completions', own(), chat);
    expect([status, headers['x-router-provider']]).toEqual([200, 'acme']);
    expect(Object.keys(headers).filter((name) => /cookie|allow|reporting|refresh/.test(name))).toEqual([]);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'/);
  });

  it('ends at Ctrl-C', async () => {
    const other = runSotto(['playground', '--port', '0', ...stage.atService()], { INFERENCE_KEY: apiKey });
    const [, at = ''] = await other.outMatches(/^(\S+)\n/);
    // Browsers keep their connections.
    await (await fetch(at)).text();
    other.child.kill('SIGINT');
    expect(await other.ended).toBe(0);
  });

  it('serves nothing if the service is not verified, and names a port that is taken', async () => {
    const { baseUrl, controlUrl } = stage.service;
    const origins = ['--base-url', baseUrl, '--control-url', controlUrl];
    const unverified = runSotto(['playground', ...origins], { INFERENCE_KEY: apiKey });
    expect(await unverified.ended).toBe(1);
    expect([unverified.out(), unverified.err()]).toEqual(['', expect.stringContaining('attestation_untrusted')]);
    const { port } = new URL(origin);
    const second = runSotto(['playground', '--port', port, ...stage.atService()], { INFERENCE_KEY: apiKey });
    expect(await second.ended).toBe(2);
    expect(second.err()).toContain(`Cannot listen on port ${port} (EADDRINUSE). Choose another with --port.`);
    stage.service.onBroker(echo);
  });
});
