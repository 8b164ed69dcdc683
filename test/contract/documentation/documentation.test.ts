import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { errorTable } from '@sotto/wire';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { get, post } from '../../kit/send.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';

/** The documentation as programs find it: by files that name each other, and by a client of the Model Context Protocol. */
await describeStage('documentation for programs', oneModel, (stage) => {
  const origin = (): string => new URL(stage.service.controlUrl).origin;
  const brokerOrigin = (): string => new URL(stage.service.baseUrl).origin;
  const server = (): string => `${stage.service.controlUrl}/docs/mcp`;
  let client: Client;

  beforeAll(async () => {
    client = new Client({ name: 'test', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(server())));
  });
  afterAll(() => client?.close());

  const call = async (name: string, given: Record<string, unknown> = {}) => {
    const { content, isError } = await client.callTool({ name, arguments: given });
    const [first] = content as { readonly type: string; readonly text: string }[];
    return { text: first?.text ?? '', isError: isError === true };
  };

  it('/llms.txt has the form of llmstxt.org, and each of its links answers with Markdown', async () => {
    const answer = await get(`${origin()}/llms.txt`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    const [title, summary, ...blocks] = answer.text.split('\n\n');
    expect(title).toBe('# Sotto');
    expect(summary).toMatch(/^> \S/);
    const sections = blocks.filter((block) => block.startsWith('## ')).map((block) => block.slice(3));
    expect(sections).toEqual(
      ['Start', 'Tools', 'Concepts', 'Use', 'Operate', 'Reference', 'Contribute', 'Optional'].filter((each) =>
        sections.includes(each),
      ),
    );
    expect(sections).toContain('Use');
    const links = [...answer.text.matchAll(/^- \[[^\]]+\]\((\S+)\): \S/gm)].map(([, url = '']) => url);
    expect(links.length).toBeGreaterThan(60);
    expect(new Set(links).size).toBe(links.length);
    const answers = await Promise.all(
      links.filter((url) => !url.endsWith('/mcp')).map(async (url) => [url, await get(url)] as const),
    );
    for (const [url, { status, headers, text }] of answers) {
      expect([url, status, headers.get('content-type')]).toEqual([url, 200, 'text/markdown; charset=utf-8']);
      expect(text).toMatch(/^(---|<!-- Written by .*\n\n# \S|# \S)/);
    }
  });

  it('the skill has the fields of its form, and the addresses of this deployment', async () => {
    const { status, text } = await get(`${origin()}/skills/sotto/SKILL.md`);
    expect(status).toBe(200);
    const [, fields = '', body = ''] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? [];
    expect(fields).toMatch(/^name: sotto\ndescription: .{40,1024}$/);
    expect(body).toContain(`${brokerOrigin()}/v1`);
    expect(body).toContain(`${stage.service.controlUrl}/docs/mcp`);
    expect(text).not.toContain('example.com');
    // The list of models that it names is there, without a key.
    expect((await get(`${stage.service.controlUrl}/catalog/models`)).json).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ id: 'm/one' })]),
    });
  });

  it('a path that is no page gets the error of any unknown path', async () => {
    for (const path of ['/guides/nothing.md', '/guides/../package.md', '/skills/other/SKILL.md', '/llms.md']) {
      expect([path, (await get(`${origin()}${path}`)).status]).toEqual([path, 404]);
    }
    expect((await post(`${origin()}/llms.txt`, {}, {})).status).toBe(404);
  });

  it('a client of the protocol lists, searches and reads pages', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).sort()).toEqual([
      'describe_route',
      'explain_error',
      'list_pages',
      'list_routes',
      'read_page',
      'search_pages',
    ]);
    expect(tools.every(({ annotations }) => annotations?.readOnlyHint === true)).toBe(true);
    expect((await call('list_pages')).text).toContain('- use/routing-preferences: Routing preferences.');
    const found = await call('search_pages', { words: 'fallback models' });
    expect(found.text).toContain('- use/routing-preferences: ');
    const page = await call('read_page', { path: 'use/routing-preferences' });
    expect(page.text).toBe((await get(`${origin()}/guides/use/routing-preferences.md`)).text);
    expect(await call('search_pages', { words: 'xyzzy' })).toMatchObject({ text: expect.stringMatching(/^No page/) });
    expect(await call('read_page', { path: '../package' })).toMatchObject({ isError: true });
  });

  it('explains each error, and describes each route with all that it refers to', async () => {
    for (const type of Object.keys(errorTable)) {
      expect((await call('explain_error', { type })).text).toMatch(new RegExp(`^${type} \\(HTTP \\d{3}\\): \\S`));
    }
    expect(await call('explain_error', { type: 'nothing' })).toMatchObject({ isError: true });
    const listed = (await call('list_routes', { origin: 'confidential' })).text;
    expect(listed).toContain('- POST /v1/chat/completions: ');
    const { text } = await call('describe_route', { origin: 'confidential', route: 'POST /v1/chat/completions' });
    const described = JSON.parse(text) as { readonly components: Record<string, Record<string, unknown>> };
    const references = [...text.matchAll(/"#\/components\/([^/"]+)\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(5);
    for (const [, kind = '', name = ''] of references)
      expect(Object.keys(described.components[kind] ?? {})).toContain(name);
    expect(await call('describe_route', { origin: 'control', route: 'POST /v1/chat/completions' })).toMatchObject({
      isError: true,
    });
  });

  it('keeps no connection open, and takes nothing but messages of the protocol', async () => {
    // The protocol's streams of changes: nothing here changes.
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(server(), { method, headers: { accept: 'text/event-stream' } });
      expect([method, answer.status]).toEqual([method, 405]);
    }
    const json = { accept: 'application/json, text/event-stream' };
    const listening = {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true } },
    };
    const modern = { ...json, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
    // Its errors are those of JSON-RPC, not of the API that `post` watches.
    const headers = { ...modern, 'content-type': 'application/json' };
    const refused = await fetch(server(), { method: 'POST', headers, body: JSON.stringify(listening) });
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', error: expect.anything() });
    const malformed = await post(server(), 'not JSON', json);
    expect(malformed.status).toBe(400);
    expect((await post(server(), { id: 1 }, json)).status).toBe(400);
    const large = await post(
      server(),
      { jsonrpc: '2.0', id: 1, method: 'x', params: { text: 'x'.repeat(2_000_000) } },
      json,
    );
    expect(large.status).toBe(413);
  });
});
