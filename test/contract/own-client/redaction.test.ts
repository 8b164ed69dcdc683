/** `sotto proxy --redact` in front of a service that a test looks into. No value may reach it, and each must reach the agent. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '@sotto/test-servers';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { apiKey, CommandStage, model } from './stages.ts';
import { type Answer, completion, echo, json, refusal } from './stand-in.ts';

const stage = new CommandStage();

const email = 'maria.schneider@example.com';
/** A key that no scanner takes for a real one, and that JSON escapes. */
const digits = createHash('sha256').update('a made key').digest('base64');
const pem = `-----BEGIN PRIVATE KEY-----\n${digits}\n${digits}\n-----END PRIVATE KEY-----`;
const password = 'p"4ss\\w0rd-of-"mine';
const text = `Maria Schneider <${email}> sent\n${pem}\nfrom Project Bluebird, with ${password}`;
const secretsOf = /Maria|Schneider|example\.com|PRIVATE KEY|Bluebird|w0rd/;

const chunkOf = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** Calls a tool with what the last message says, whole or with each character in a chunk of its own. */
const callsBack: Answer = ({ text: sent }, response) => {
  const body = JSON.parse(sent) as { stream?: boolean; messages: { content: string }[] };
  const args = JSON.stringify({ text: body.messages.at(-1)?.content, note: body.messages.at(-1)?.content });
  const call = { id: 'call_1', type: 'function', function: { name: 'save', arguments: args } };
  if (body.stream !== true) {
    const message = { role: 'assistant', content: null, tool_calls: [call] };
    return json(response, 200, { ...completion(''), choices: [{ index: 0, message, finish_reason: 'tool_calls' }] });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    chunkOf({ role: 'assistant', tool_calls: [{ index: 0, ...call, function: { name: 'save', arguments: '' } }] }),
  );
  for (const letter of args) response.write(chunkOf({ tool_calls: [{ index: 0, function: { arguments: letter } }] }));
  response.end(`${chunkOf({}, 'tool_calls')}data: [DONE]\n\n`);
};

/** Says what the last message says, with each character in a chunk of its own. */
const spells: Answer = ({ text: sent }, response) => {
  const { messages } = JSON.parse(sent) as { messages: { content: string }[] };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunkOf({ role: 'assistant' }));
  for (const letter of messages.at(-1)?.content ?? '') response.write(chunkOf({ content: letter }));
  response.end(`${chunkOf({}, 'stop')}data: [DONE]\n\n`);
};

describe('sotto proxy --redact', () => {
  let proxy: SottoRun;
  let baseURL: string;
  let openai: OpenAI;
  beforeAll(async () => {
    const words = join(stage.folder, 'words');
    await writeFile(words, 'Project Bluebird\n\n');
    const args = ['proxy', '--port', '0', '--open', '--redact', '--redact-words', words, ...stage.atService()];
    proxy = runSotto(args, { INFERENCE_KEY: apiKey, OWN_PASSWORD: password });
    [, baseURL = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
    openai = new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0 });
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });

  const ask = (content: string, before: { role: 'user' | 'assistant'; content: string }[] = []) =>
    openai.chat.completions.create({ model, messages: [...before, { role: 'user', content }] });
  const sent = (at = -1): { messages: { content: string }[] } => JSON.parse(stage.service.broker.at(at)?.text ?? '{}');
  const placeholdersIn = (body: object): readonly string[] => JSON.stringify(body).match(/[A-Z]+_\w{6}_\w{8}/g) ?? [];

  it('sends placeholders, and puts the values back, whole and streamed', async () => {
    expect((await ask(text)).choices[0]?.message.content).toBe(`You said: ${text}`);
    stage.service.onBroker(spells);
    const stream = openai.chat.completions.stream({ model, messages: [{ role: 'user', content: text }] });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe(text);
    for (const { text: seen } of stage.service.broker) expect(seen).not.toMatch(secretsOf);
    expect(sent().messages[0]?.content).toMatch(
      /^NAME_\w+ <EMAIL_\w+> sent\nSECRET_\w+\nfrom WORD_\w+, with SECRET_\w+$/,
    );
    expect(JSON.stringify(stage.service.control)).not.toMatch(secretsOf);
  });

  it('puts them back into the arguments of tool calls, as JSON that means the same', async () => {
    stage.service.onBroker(callsBack);
    const whole = await ask(text);
    const stream = openai.chat.completions.stream({ model, messages: [{ role: 'user', content: text }] });
    for (const { choices } of [whole, await stream.finalChatCompletion()]) {
      const [call] = choices[0]?.message.tool_calls ?? [];
      expect(call?.type === 'function' && JSON.parse(call.function.arguments)).toEqual({ text, note: text });
    }
  });

  it('works in the dialects of Claude Code and Codex', async () => {
    stage.service.onBroker(callsBack);
    const post = async (path: string, body: object): Promise<string> => {
      const answer = await fetch(`${baseURL}${path}`, { method: 'POST', body: JSON.stringify({ model, ...body }) });
      return answer.text();
    };
    const said = await post('/messages', { max_tokens: 50, messages: [{ role: 'user', content: text }] });
    expect(JSON.parse(said).content[0].input).toEqual({ text, note: text });
    expect(JSON.parse(await post('/responses', { input: text })).output[0].arguments).toContain(email);
    for (const { text: seen } of stage.service.broker) expect(seen).not.toMatch(secretsOf);
  });

  it('redacts what an agent sends again: results of tools, and arguments of earlier calls with all that JSON escapes', async () => {
    const call = {
      id: 'call_1',
      type: 'function' as const,
      function: { name: 'save', arguments: JSON.stringify({ text }) },
    };
    await openai.chat.completions.create({
      model,
      messages: [
        { role: 'user', content: 'Save it.' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: text },
        { role: 'user', content: [{ type: 'text', text: `Thanks, says ${email}` }] },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'save', description: `Made by ${email}`, parameters: { type: 'object' } },
        },
      ],
    });
    const [seen] = stage.service.broker;
    expect(seen?.text).not.toMatch(secretsOf);
    expect(JSON.parse(seen?.text ?? '')).toMatchObject({ model, tools: [{ function: { name: 'save' } }] });
  });

  it('gives a value the same placeholder through a conversation, so that its beginning stays the same, and another in the next', async () => {
    const first = `Write to ${email}`;
    await ask(first);
    const answer = { role: 'assistant' as const, content: `To ${email}, about what?` };
    await ask('About Anna Kowalska', [{ role: 'user', content: first }, answer]);
    expect(sent(-1).messages[0]).toEqual(sent(-2).messages[0]);
    expect(new Set(placeholdersIn(sent(-1).messages.slice(0, 2))).size).toBe(1);
    await ask(`Now write to ${email}`);
    const [before, after] = [placeholdersIn(sent(-2)), placeholdersIn(sent(-1))];
    expect(before.filter((each) => after.includes(each))).toEqual([]);
    // Not even the random part is the same.
    expect(before[0]?.split('_')[1]).not.toBe(after[0]?.split('_')[1]);
  });

  it('takes no text of a prompt for a placeholder', async () => {
    const forged = 'EMAIL_abcdef_abcdefgh and NAME_x7k2p9_3fh1qm8z';
    expect((await ask(`${forged} ${email}`)).choices[0]?.message.content).toBe(`You said: ${forged} ${email}`);
    expect(sent().messages[0]?.content).toContain(forged);
  });

  it('replaces a secret also in the middle of a word, and a name only where it is one', async () => {
    await ask(
      `DB_PASSWORD=hunter2-98 mysql -phunter2-98. Ask Anna Kowalska, not Anna Kowalskaja, of Project Bluebirds.`,
    );
    expect(sent().messages[0]?.content).toMatch(
      /^DB_PASSWORD=(SECRET_\w+) mysql -p\1\. Ask NAME_\w+, not NAME_\w+, of WORD_\w{6}_\w{8}s\.$/,
    );
    const [, first, second] = placeholdersIn(sent());
    expect(first).not.toBe(second);
  });

  it('leaves a request without values, and its answer, as they are', async () => {
    const content = 'Run `npm test` in src/index.ts, version 1.2.3.';
    expect((await ask(content)).choices[0]?.message.content).toBe(`You said: ${content}`);
    expect(sent().messages).toEqual([{ role: 'user', content }]);
  });

  it('puts them back into the reason of a refusal', async () => {
    stage.service.onBroker(({ text: seen }, response) => {
      const { messages } = JSON.parse(seen) as { messages: { content: string }[] };
      json(response, 400, { error: { message: `Bad: ${messages[0]?.content}`, type: 'invalid_request' } });
    });
    await expect(ask(`Ask ${email}`)).rejects.toMatchObject({ message: expect.stringContaining(`Bad: Ask ${email}`) });
    stage.service.onBroker((_, response) => json(response, 402, refusal('insufficient_balance')));
    await expect(ask(email)).rejects.toMatchObject({ type: 'insufficient_balance' });
  });

  it('refuses requests whose result would keep placeholders, and says so once when it cannot read an image', async () => {
    const answer = await fetch(`${baseURL}/embeddings`, {
      method: 'POST',
      body: JSON.stringify({ model, input: email }),
    });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('without --redact')]);
    expect(stage.service.broker).toEqual([]);
    const image = { type: 'image_url' as const, image_url: { url: `data:image/png;base64,${digits}` } };
    for (const _ of [1, 2]) {
      await openai.chat.completions
        .create({ model, messages: [{ role: 'user', content: [image] }] })
        .catch(() => undefined);
    }
    await until(() => proxy.err().includes('--redact reads text only'), 'the proxy says what it does not read');
    expect(proxy.err().match(/reads text only/g)).toHaveLength(1);
    expect(stage.service.broker[0]?.text).toContain(digits);
  });
});

it('sotto proxy --redact together with --prove-tool-calls is one proxy that does both', async () => {
  const args = ['proxy', '--port', '0', '--open', '--redact', '--prove-tool-calls', ...stage.atService()];
  const both = runSotto(args, { INFERENCE_KEY: apiKey });
  const [, baseURL = ''] = await both.outMatches(/^(http:\S+)\n/);
  stage.service.onBroker(echo);
  const openai = new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0 });
  const answer = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: email }] });
  expect(answer.choices[0]?.message.content).toBe(`You said: ${email}`);
  expect(stage.service.broker[0]?.headers['x-router-receipt']).toMatch(/^[0-9a-f]{64}$/);
  expect(stage.service.broker[0]?.text).not.toContain(email);
  both.child.kill('SIGKILL');
  await both.ended;
});

it.each<[string, string[], RegExp]>([
  ['words without the option', ['--redact-words', 'x'], /--redact-words needs --redact\./],
  [
    'a file that is not there',
    ['--redact', '--redact-words', '/nowhere'],
    /--redact-words \/nowhere: there is no such file\./,
  ],
])('sotto proxy refuses %s', async (_, given, says) => {
  const own = runSotto(['proxy', ...given, ...stage.atService()], { INFERENCE_KEY: apiKey });
  expect(await own.ended).toBe(2);
  expect(own.err()).toMatch(says);
});

it('sotto proxy refuses a word so short that it would stand in other words', async () => {
  const file = join(stage.folder, 'short');
  await writeFile(file, 'Bluebird\nAI\n');
  const own = runSotto(['proxy', '--redact', '--redact-words', file, ...stage.atService()], { INFERENCE_KEY: apiKey });
  expect(await own.ended).toBe(2);
  expect(own.err()).toContain('"AI" is too short; a word has at least 4 characters.');
});

it('sotto run --print names the options for the proxy, too', async () => {
  const file = join(stage.folder, 'print words');
  await writeFile(file, 'Bluebird\n');
  const given = ['--prove-tool-calls', '--redact', '--redact-words', file];
  const own = runSotto(['run', 'claude', '--print', ...given]);
  expect(await own.ended).toBe(0);
  expect(own.out()).toContain(`sotto proxy --prove-tool-calls --redact --redact-words '${file}'`);
});
