import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';
import { event, frame, message, ours, parseFrames } from '../testing/fixtures.ts';

const options = { identity: ours, stripReasoning: false };
const sse = (events: readonly object[]): string =>
  events.map((said) => `event: ${(said as { type: string }).type}\n${frame(said)}`).join('');
const binary = (events: readonly (readonly [type: string, payload: object])[]): string =>
  Buffer.concat(
    events.map(([type, payload]) =>
      message({ ':message-type': 'event', ':event-type': type }, JSON.stringify(payload)),
    ),
  ).toString('latin1');

const ids = ['a', 'b'];
const usage = { inputTokens: 1, outputTokens: 1 };

/** Two calls without arguments, in each API.. */
const apis = {
  openai: {
    cut: ['length', 'content_filter'],
    done: ['tool_calls', 'stop'],
    whole: (finish_reason: string) => ({
      choices: [
        {
          message: { tool_calls: ids.map((id) => ({ id, function: { name: 'wipe', arguments: '' } })) },
          finish_reason,
        },
      ],
    }),
    streamed: (finish: string) =>
      ids.map((id, index) => frame(event({ tool_calls: [{ index, id, function: { name: 'wipe' } }] }))).join('') +
      frame(event({}, finish)),
  },
  anthropic: {
    cut: ['max_tokens', 'refusal'],
    done: ['tool_use', 'end_turn'],
    whole: (stop_reason: string) => ({
      type: 'message',
      content: ids.map((id) => ({ type: 'tool_use', id, name: 'wipe', input: {} })),
      stop_reason,
    }),
    streamed: (stop_reason: string) =>
      sse([
        ...ids.flatMap((id, index) => [
          { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name: 'wipe', input: {} } },
          { type: 'content_block_stop', index },
        ]),
        { type: 'message_delta', delta: { stop_reason } },
        { type: 'message_stop' },
      ]),
  },
  bedrock: {
    cut: ['max_tokens', 'guardrail_intervened'],
    done: ['tool_use', 'end_turn'],
    whole: (stopReason: string) => ({
      output: { message: { content: ids.map((toolUseId) => ({ toolUse: { toolUseId, name: 'wipe', input: {} } })) } },
      stopReason,
    }),
    streamed: (stopReason: string) =>
      binary([
        ...ids.flatMap((toolUseId, contentBlockIndex) => [
          ['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name: 'wipe' } } }] as const,
          ['contentBlockStop', { contentBlockIndex }] as const,
        ]),
        ['messageStop', { stopReason }],
        ['metadata', { usage }],
      ]),
  },
} as const;

describe.each(Object.entries(apis))('a call without arguments at %s', (name, api) => {
  const read = async (reason: string): Promise<{ readonly whole: unknown; readonly streamed: unknown }> => {
    const adapter = await loadAdapter(name as keyof typeof apis);
    const reading = adapter.readChat(Buffer.from(JSON.stringify(api.whole(reason))), options);
    const stream = adapter.openChatStream(options);
    const chunks = parseFrames(stream.push(api.streamed(reason)) + stream.end());
    const streamed = ['', ''];
    for (const { choices } of chunks) {
      for (const { index, function: called } of choices[0]?.delta.tool_calls ?? []) {
        streamed[index] += called?.arguments ?? '';
      }
    }
    const calls = reading.ok ? reading.answer.choices[0]?.message.tool_calls : undefined;
    return { whole: calls?.map((call) => call.function.arguments), streamed };
  };

  it.each(api.done)('is whole after %s: clients parse its arguments', async (reason) => {
    expect(await read(reason)).toEqual({ whole: ['{}', '{}'], streamed: ['{}', '{}'] });
  });

  it.each(api.cut)('was cut off if it is the last one before %s: its tool must not run', async (reason) => {
    expect(await read(reason)).toEqual({ whole: ['{}', ''], streamed: ['{}', ''] });
  });
});
