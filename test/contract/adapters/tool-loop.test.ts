import { parseExactJson } from '@sotto/wire';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Piece, ToolCall } from '../../kit/answer.ts';
import { ask } from '../../kit/client.ts';
import type { Asked, Dialect, Says } from '../../kit/dialects/dialect.ts';
import { bothModes, everyWay, type Way } from '../../kit/scenes/ways.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { dialects, everyDialect, speaks } from './every-dialect.ts';

/** An assistant message as a client stores it and sends it back. */
interface Kept {
  readonly role: 'assistant';
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly reasoning_details?: readonly unknown[];
}

const schema = {
  type: 'object',
  properties: { warmer: { type: 'string', enum: ['Graz', 'Århus'] }, degrees: { type: 'integer' } },
  required: ['warmer', 'degrees'],
  additionalProperties: false,
};
const verdict = '{"warmer":"Graz","degrees":21}';
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const request = {
  tools: [
    { type: 'function', function: { name: 'weather', description: 'Weather of a city.', parameters } },
    { type: 'function', function: { name: 'now' } },
  ],
  tool_choice: 'auto',
  response_format: { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema } },
  reasoning_effort: 'low',
  max_tokens: 2000,
};

const signatures = ['U0lHTkFUVVJFMQ==', 'U0lHTkFUVVJFMg=='];

/** Plays the model of this conversation: two calls at once, then one more, then the answer. */
function model({ turns }: Asked): Says {
  const results = turns.flatMap((turn) => turn.results);
  const usage = { fresh: 100 + results.length, output: 20, reasoning: 5 };
  const reasoning = (text: string, index: number) => ({ text, signature: signatures[index] ?? '' });
  if (results.length === 0) {
    const calls = ['Graz', 'Århus'].map((city) => ({ name: 'weather', args: { city } }));
    return { reasoning: reasoning('Two cities to ask for.', 0), calls, usage };
  }
  if (results.length === 2)
    return { reasoning: reasoning('And the time.', 1), calls: [{ name: 'now', args: {} }], usage };
  return { text: verdict, usage };
}

const results: Readonly<Record<string, string>> = { Graz: '{"degrees":21}', Århus: 'eleven degrees' };

/** The outcome of one run of the conversation: the last request to the vendor, and the answers to the client. */
interface Outcome {
  readonly asked: readonly Asked[];
  readonly told: readonly unknown[];
}

await describeStage('one conversation: system, two rounds of tools, a JSON schema', everyDialect, (stage) => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount({ usd: 1000 });
  });

  async function converse(dialect: Dialect, { flow, stream }: Way, keepsDetails: boolean): Promise<Outcome> {
    const asked: Asked[] = [];
    const scene = stage.scene(`${dialect.adapter}-single`);
    scene.on(dialect.adapter, (seen, response) => {
      asked.push(dialect.asked(seen));
      return speaks(dialect, model)(seen, response);
    });
    const messages: object[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Answer in JSON.' }] },
      { role: 'user', content: 'Where is it warmer?' },
      { role: 'user', content: [{ type: 'text', text: ' Graz or Århus?' }] },
    ];
    const told: unknown[] = [];
    for (let round = 0; round < 3; round += 1) {
      const options = stream ? { stream, stream_options: { include_usage: true } } : {};
      const answer = await ask(
        stage.service,
        account.inferenceKey,
        { model: scene.model, messages, ...request, ...options },
        { flow },
      );
      expect(answer.status, answer.text).toBe(200);
      const message = stream
        ? assembled(answer.chunks.flatMap(({ choices }) => choices?.[0]?.delta ?? []))
        : kept(answer.body.choices?.[0]?.message ?? {});
      const finish = stream
        ? answer.chunks.map(({ choices }) => choices?.[0]?.finish_reason).find(Boolean)
        : answer.body.choices?.[0]?.finish_reason;
      const { reasoning_details: details = [], ...plain } = message;
      messages.push(keepsDetails ? message : plain);
      for (const call of message.tool_calls ?? []) {
        const { city = '' } = JSON.parse(call.function.arguments) as { city?: string };
        messages.push({ role: 'tool', tool_call_id: call.id, content: results[city] ?? '12:30' });
      }
      const calls = (message.tool_calls ?? []).map((call) => [call.function.name, JSON.parse(call.function.arguments)]);
      const { prompt_tokens, completion_tokens } = answer.body.usage ?? {};
      told.push({ content: message.content || null, calls, finish, prompt_tokens, completion_tokens });
      const isSigned = dialect.adapter !== 'openai' && dialect.adapter !== 'azure' && round < 2;
      expect(details.length > 0).toBe(isSigned);
    }
    return { asked, told };
  }

  describe.each(everyWay)('$name', (way) => {
    it.each(dialects.map((dialect) => ({ name: dialect.adapter, dialect })))(
      '$name gets the same requests and gives the same answers',
      async ({ dialect }) => {
        const { asked, told } = await converse(dialect, way, true);
        expect(told).toEqual([
          {
            content: null,
            calls: [
              ['weather', { city: 'Graz' }],
              ['weather', { city: 'Århus' }],
            ],
            finish: 'tool_calls',
            prompt_tokens: 100,
            completion_tokens: 25,
          },
          { content: null, calls: [['now', {}]], finish: 'tool_calls', prompt_tokens: 102, completion_tokens: 25 },
          { content: verdict, calls: [], finish: 'stop', prompt_tokens: 103, completion_tokens: 25 },
        ]);
        expect(asked).toHaveLength(3);
        const isSigned = dialect.adapter !== 'openai' && dialect.adapter !== 'azure';
        const signed = (index: number): unknown => (isSigned ? [signatures[index]] : []);
        const nothing = { images: [], calls: [], results: [], signatures: [] };
        expect(asked[2]).toMatchObject({
          system: expect.stringMatching(/^Be brief\.\n+Answer in JSON\.$/),
          tools: ['weather', 'now'],
          toolChoice: 'auto',
          schema,
          maxTokens: 2000,
          turns: [
            { ...nothing, side: 'user', text: 'Where is it warmer? Graz or Århus?' },
            {
              ...nothing,
              side: 'model',
              text: '',
              calls: [
                { name: 'weather', args: { city: 'Graz' } },
                { name: 'weather', args: { city: 'Århus' } },
              ],
              signatures: signed(0),
            },
            { ...nothing, side: 'user', text: '', results: ['{"degrees":21}', 'eleven degrees'] },
            { ...nothing, side: 'model', text: '', calls: [{ name: 'now', args: {} }], signatures: signed(1) },
            { ...nothing, side: 'user', text: '', results: ['12:30'] },
          ],
        });
      },
    );
  });

  it.each(dialects.map((dialect) => ({ name: dialect.adapter, dialect })))(
    '$name works with a client that keeps only the fields of OpenAI',
    async ({ dialect }) => {
      const { told } = await converse(dialect, { flow: 'compatibility', stream: true, name: '' }, false);
      expect(told[2]).toMatchObject({ content: verdict, finish: 'stop' });
    },
  );

  describe.each(bothModes)('$name', ({ stream }) => {
    it.each(dialects.map((dialect) => ({ name: dialect.adapter, dialect })))(
      '$name gets schemas and earlier arguments, and its arguments come back, with every digit and in their order',
      async ({ dialect }) => {
        const args = '{"b":1,"10":18446744073709551615,"2":"x"}';
        const says: Says = {
          calls: [{ name: 'look_up', args: parseExactJson(args) as object }],
          usage: { fresh: 10, output: 5 },
        };
        const scene = stage.scene(`${dialect.adapter}-single`);
        scene.on(dialect.adapter, speaks(dialect, says));
        const asked = scene.seen(dialect.adapter);
        const properties =
          '{"id":{"type":"integer","enum":[9007199254740993]},"10":{"type":"string"},"2":{"type":"null"}}';
        const exact = parseExactJson(`{"type":"object","properties":${properties}}`);
        const call = { id: 'call_1', type: 'function', function: { name: 'look_up', arguments: args } };
        const answer = await ask(stage.service, account.inferenceKey, {
          model: scene.model,
          stream,
          max_tokens: 100,
          messages: [
            { role: 'user', content: 'Look it up.' },
            { role: 'assistant', content: null, tool_calls: [call] },
            { role: 'tool', tool_call_id: 'call_1', content: 'Nothing.' },
          ],
          tools: [{ type: 'function', function: { name: 'look_up', parameters: exact } }],
          response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: exact } },
        });
        expect(answer.status, answer.text).toBe(200);
        const [choice] = answer.body.choices ?? [];
        const pieces = stream ? answer.chunks.map(({ choices }) => choices?.[0]?.delta) : [choice?.message];
        const calls = pieces.flatMap((piece) => piece?.tool_calls ?? []);
        expect(calls.map(({ function: called }) => called.arguments ?? '').join('')).toBe(args);
        // Some APIs take a schema or arguments as text.
        const sent = (asked[0]?.text ?? '').replaceAll('\\', '');
        expect(sent.split(properties.slice(0, -1))).toHaveLength(3);
        expect(sent).toContain(args);
      },
    );
  });
});

interface Delta extends Piece {
  readonly reasoning_details?: readonly unknown[];
}

const kept = ({ content = null, tool_calls: calls, reasoning_details: details }: Delta): Kept => ({
  role: 'assistant',
  content,
  ...(calls === undefined ? {} : { tool_calls: calls.map(wholeCall) }),
  ...(details === undefined ? {} : { reasoning_details: details }),
});

const wholeCall = ({ id = '', function: { name = '', arguments: args = '' } }: ToolCall) => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
});

/** Assembles a stream as clients do. Details stay in the pieces in which they arrived. */
function assembled(deltas: readonly Delta[]): Kept {
  let content = '';
  const calls: ReturnType<typeof wholeCall>[] = [];
  const details: unknown[] = [];
  for (const delta of deltas) {
    content += delta.content ?? '';
    details.push(...(delta.reasoning_details ?? []));
    for (const piece of delta.tool_calls ?? []) {
      const known = calls[piece.index ?? 0];
      const { name = '', arguments: args = '' } = piece.function;
      if (known === undefined) calls[piece.index ?? 0] = wholeCall(piece);
      else
        calls[piece.index ?? 0] = {
          ...known,
          function: { name: known.function.name + name, arguments: known.function.arguments + args },
        };
    }
  }
  return kept({
    content: content || null,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
  });
}
