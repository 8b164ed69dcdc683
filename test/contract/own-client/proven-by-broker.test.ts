/** The receipts of the real broker, by which `sotto proxy --prove-tool-calls` hands tool calls on. */
import OpenAI from 'openai';
import { expect, it } from 'vitest';
import { runSotto } from '../../kit/run-sotto.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';

const calls = [{ id: 'call_1', type: 'function', function: { name: 'run', arguments: '{"command":"ls"}' } }];
const tools = [{ type: 'function' as const, function: { name: 'run', parameters: { type: 'object' } } }];
const messages = [{ role: 'user' as const, content: 'List the files.' }];

await describeStage(
  'proven tool calls',
  {
    providers: { alpha: {} },
    models: { 'm/one': { routes: { alpha: { pricing: [1, 2], capabilities: { tools: true } } } } },
  },
  (stage) => {
    it('come from the real broker, whole and streamed, and a text needs no proof', async () => {
      stage.on('alpha', ({ body }, response) => {
        const head = { id: 'x', created: 1, model: 'm' };
        const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
        if (body.stream !== true) {
          const message = { role: 'assistant', content: null, tool_calls: calls };
          const choices = [{ index: 0, message, finish_reason: 'tool_calls' }];
          response.writeHead(200, { 'content-type': 'application/json' });
          return void response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
        }
        const chunk = (choices: object[], more: object = {}): string =>
          `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(chunk([{ index: 0, delta: { role: 'assistant', content: 'Grüße: ' }, finish_reason: null }]));
        const delta = { tool_calls: calls.map((call, index) => ({ index, ...call })) };
        response.write(chunk([{ index: 0, delta, finish_reason: null }]));
        response.write(chunk([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]));
        response.end(`${chunk([], { usage })}data: [DONE]\n\n`);
      });
      const { inferenceKey } = await stage.service.createAccount();
      const { baseUrl, controlUrl } = stage.service;
      const at = ['--base-url', baseUrl, '--control-url', controlUrl, '--allow-simulated'];
      const proxy = runSotto(['proxy', '--port', '0', '--open', '--prove-tool-calls', ...at], {
        INFERENCE_KEY: inferenceKey,
      });
      const [, baseURL = ''] = await proxy.outMatches(/^(http:\S+)\n/);
      const openai = new OpenAI({ baseURL, apiKey: 'x', maxRetries: 0 });
      const asked = { model: 'm/one', messages, tools };
      const whole = await openai.chat.completions.create(asked);
      expect(whole.choices[0]?.message.tool_calls).toEqual(calls);
      const streamed = await openai.chat.completions.stream(asked).finalChatCompletion();
      expect(streamed.choices[0]?.message).toMatchObject({ content: 'Grüße: ', tool_calls: calls });
      proxy.child.kill('SIGKILL');
      await proxy.ended;
    });
  },
);
