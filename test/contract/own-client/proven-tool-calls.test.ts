/**
 * `sotto proxy --prove-tool-calls` against everything that could stand between the broker and the agent. The change that each test
 * makes happens after the broker has signed, or is one that an honest broker would not sign. None may bring a tool call to the agent.
 */
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runSotto, type SottoRun } from '../../kit/run-sotto.ts';
import { type BrokerAnswer, SigningBroker, type Tampering } from './signing-broker.ts';
import { apiKey, CommandStage, messages, model } from './stages.ts';

const stage = new CommandStage();

const chunk = (delta: object, finish: string | null = null, index = 0): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model, choices: [{ index, delta, finish_reason: finish }] })}\n\n`;
const call = (args: string, more: object = {}): object => ({
  tool_calls: [
    { index: 0, ...more, function: { ...(Object.keys(more).length > 0 && { name: 'run' }), arguments: args } },
  ],
});
const begin = { id: 'call_1', type: 'function' };
const done = 'data: [DONE]\n\n';
/** Text, then a call whose arguments come in three chunks. */
const streamed: BrokerAnswer = {
  pieces: [
    chunk({ role: 'assistant' }),
    chunk({ content: 'Let me look.' }),
    chunk(call('{"com', begin)),
    chunk(call('mand":"ls')),
    chunk(call('"}')),
    chunk({}, 'tool_calls'),
    done,
  ],
};
const completion = (message: object, finish_reason: string): BrokerAnswer => ({
  pieces: [
    JSON.stringify({
      ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model },
      choices: [{ index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason }],
    }),
  ],
  type: 'application/json',
});
const toolCalls = [{ ...begin, function: { name: 'run', arguments: '{"command":"ls"}' } }];
const whole = completion({ tool_calls: toolCalls }, 'tool_calls');
const otherCommand = (pieces: readonly string[]) => pieces.map((piece) => piece.replace('ls', 'rm'));

describe('sotto proxy --prove-tool-calls', () => {
  let proxy: SottoRun;
  let baseURL: string;
  let openai: OpenAI;
  let broker: SigningBroker;
  beforeAll(async () => {
    broker = new SigningBroker(stage.service);
    const args = ['proxy', '--port', '0', '--open', '--prove-tool-calls', ...stage.atService()];
    proxy = runSotto(args, { INFERENCE_KEY: apiKey });
    [, baseURL = ''] = await proxy.outMatches(/^(http:\/\/127\.0\.0\.1:\d+\/v1)\n/);
    openai = new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0 });
  });
  afterAll(async () => {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
  });

  const post = async (path: string, body: object): Promise<string> => {
    const answer = await fetch(`${baseURL}${path}`, { method: 'POST', body: JSON.stringify({ model, ...body }) });
    return `${answer.status} ${await answer.text()}`;
  };
  const ask = (stream: boolean): Promise<string> => post('/chat/completions', { messages, stream });

  it('hands on a call that the receipt proves, streamed in chunks and whole', async () => {
    broker.answers(streamed);
    const final = await openai.chat.completions.stream({ model, messages }).finalChatCompletion();
    expect(final.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: 'Let me look.', tool_calls: toolCalls },
    });
    broker.answers(whole);
    const answer = await openai.chat.completions.create({ model, messages });
    expect(answer.choices[0]?.message.tool_calls).toEqual(toolCalls);
    // Each was asked for with a secret of its own, by the broker alone.
    expect(broker.fetched.slice(-2)).toEqual(broker.asked.slice(-2));
    expect(new Set(broker.asked).size).toBe(broker.asked.length);
    expect(JSON.stringify(stage.service.control)).not.toContain(broker.asked.at(-1));
  });

  it('hands it on in the dialects of Claude Code and Codex', async () => {
    broker.answers(streamed);
    expect(await post('/messages', { messages, max_tokens: 50, stream: true })).toMatch(
      /"tool_use".*ls.*message_stop/s,
    );
    expect(await post('/responses', { input: 'hi', stream: true })).toMatch(/function_call.*ls.*response\.completed/s);
    broker.answers(whole);
    expect(await post('/messages', { messages, max_tokens: 50 })).toContain('"tool_use"');
  });

  it('lets text pass before its answer has ended, and asks for no receipt of an answer without calls', async () => {
    const fetched = broker.fetched.length;
    let finish = (): void => undefined;
    stage.service.onBroker((_, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(chunk({ content: 'first' }));
      finish = () => response.end(`${chunk({ content: 'second' }, 'stop')}${done}`);
    });
    const said: unknown[] = [];
    for await (const each of await openai.chat.completions.create({ model, messages, stream: true })) {
      said.push(each.choices[0]?.delta.content);
      // The broker ends its answer only after the first text has arrived here.
      finish();
    }
    expect(said).toEqual(['first', 'second']);
    broker.answers(completion({ content: 'hello' }, 'stop'));
    expect(await ask(false)).toContain('hello');
    expect(broker.fetched).toHaveLength(fetched);
  });

  const zeros = '0'.repeat(64);
  it.each<[string, BrokerAnswer, Tampering, RegExp]>([
    ['other arguments', streamed, { pieces: otherCommand }, /receipt\.response.*another response/],
    ['other arguments in a whole answer', whole, { pieces: otherCommand }, /receipt\.response/],
    [
      'a call in place of text',
      completion({ content: 'hi' }, 'stop'),
      { pieces: () => whole.pieces },
      /receipt\.response/,
    ],
    [
      'a call added to a text',
      { pieces: [chunk({ content: 'hi' }, 'stop'), done] },
      { pieces: ([text = '', end = '']) => [text, ...streamed.pieces, end] },
      /receipt\.response/,
    ],
    [
      'a call in the second choice',
      { pieces: [chunk({ content: 'hi' })] },
      { pieces: ([text = '']) => [text, chunk(call('{"a":"ls"}', begin), null, 1), done] },
      /receipt\.response/,
    ],
    [
      'a call after the end of the stream',
      { pieces: [done] },
      { pieces: () => [chunk({ content: 'hi' }, 'stop'), done, ...streamed.pieces] },
      /receipt\.response/,
    ],
    [
      'a call under a name in other letters',
      { pieces: [done] },
      { pieces: () => [chunk({ TOOL_CALLS: 'ls' }), done] },
      /receipt\.response/,
    ],
    [
      'a call in the name of a status that is no error',
      whole,
      { pieces: otherCommand, status: 201 },
      /receipt\.response/,
    ],
    ['another status', whole, { status: 202 }, /did not come to its end/],
    [
      'a whole answer that is called a stream of text',
      whole,
      { pieces: (pieces) => pieces.map((each) => `data: ${otherCommand([each])}\n\n`) },
      /receipt\.response/,
    ],
    [
      'the receipt of another request',
      streamed,
      { signed: { received_sha256: zeros } },
      /receipt\.request.*another request/,
    ],
    ['the receipt of another answer', streamed, { signed: { returned_sha256: zeros } }, /receipt\.response/],
    ['the receipt of an answer that was cut', streamed, { signed: { complete: false } }, /did not come to its end/],
    ['the receipt of speech', streamed, { signed: { operation: 'speech' } }, /did not come to its end/],
    [
      'a receipt that was changed',
      streamed,
      { receipt: (it) => ({ ...it, attempts: [], issued_at: 1 }) },
      /receipt\.signature/,
    ],
    ['a receipt that is none', streamed, { receipt: () => ({ ok: true }) }, /receipt\.format/],
    [
      'a receipt of another registry',
      streamed,
      { signed: { provider_registry_digest: `sha256:${'1'.repeat(64)}` } },
      /receipt\.registry/,
    ],
  ])('withholds %s, and says why', async (_, answer, tampering, reason) => {
    broker.answers(answer, tampering);
    const said = await ask(answer.type === undefined);
    expect(said).toMatch(/"type":"tool_call_unproven"|"code":"tool_call_unproven"/);
    expect(said).toMatch(reason);
    expect(said).not.toMatch(/arguments|TOOL_CALLS|[`"]ls|"rm/);
  });

  it('reads each event once and writes it anew: of two fields of one name, the agent gets the one that was judged', async () => {
    const doubled = chunk({ content: 'hi' }, 'stop').replace(
      '"choices"',
      `"choices":[{"index":0,"delta":${JSON.stringify(call('ls', begin))}}],"choices"`,
    );
    expect(doubled).toContain('tool_calls');
    broker.answers({ pieces: [done] }, { pieces: () => [doubled, done] });
    expect(await ask(true)).toMatch(/^200 (?!.*tool_calls).*"hi".*\[DONE\]\n\n$/s);
  });

  it('gives the reason in the dialect of the agent, and no call', async () => {
    broker.answers(streamed, { pieces: otherCommand });
    const failed = await openai.chat.completions
      .stream({ model, messages })
      .finalChatCompletion()
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({
      type: 'tool_call_unproven',
      message: expect.stringContaining('discarded the call'),
    });
    const says = /event: error\ndata: .*tool_call_unproven|discarded the call/;
    const messagesAnswer = await post('/messages', { messages, max_tokens: 50, stream: true });
    expect(messagesAnswer).toMatch(says);
    expect(messagesAnswer).not.toMatch(/tool_use|message_stop|rm/);
    const responses = await post('/responses', { input: 'hi', stream: true });
    expect(responses).toMatch(/response\.failed|"type":"error"/);
    expect(responses).toContain('discarded the call');
    expect(responses).not.toMatch(/function_call|response\.completed/);
    broker.answers(whole, { pieces: otherCommand });
    const wholeMessages = await post('/messages', { messages: [{ role: 'user', content: 'whole' }], max_tokens: 50 });
    expect(wholeMessages).toMatch(/^424 .*"type":"error".*discarded the call/s);
  });

  it('withholds a call whose stream was cut', async () => {
    broker.answers({ pieces: streamed.pieces.slice(0, 5) }, { cuts: true });
    const answer = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ model, messages, stream: true }),
    });
    let said = '';
    const read = async (): Promise<void> => {
      for await (const piece of answer.body ?? []) said += Buffer.from(piece).toString();
    };
    await expect(read()).rejects.toThrow();
    expect(said).toContain('Let me look.');
    expect(said).not.toContain('tool_calls');
  });

  it('says of a whole answer that was cut that it is lost, and may be charged', async () => {
    broker.answers({ ...whole, pieces: [(whole.pieces[0] ?? '').slice(0, -20)] }, { cuts: true });
    expect(await ask(false)).toMatch(/^424 .*answer_lost/);
  });

  it('withholds a call that a broker signed with a key which no evidence named: it was restarted, or is another', async () => {
    const stated = stage.service.stated();
    broker.restart();
    broker.answers(streamed);
    expect(await ask(true)).toMatch(/receipt\.key.*tool_call_unproven/s);
    stage.service.states(stated);
  });
});

it.each(['proxy', 'run'])(
  'sotto %s --prove-tool-calls is refused with --e2ee, and the help says what it does',
  async (command) => {
    const agent = command === 'run' ? ['codex', '--model', model] : [];
    const own = runSotto([command, ...agent, '--prove-tool-calls', '--e2ee', ...stage.atService()], {
      INFERENCE_KEY: apiKey,
    });
    expect(await own.ended).toBe(2);
    expect(own.err()).toContain('encrypted chats have no tool calls. Leave one of the two out.');
    expect(stage.service.control).toEqual([]);
    const help = runSotto([command, '--help']);
    await help.ended;
    expect(help.out()).toContain('--prove-tool-calls');
  },
);
