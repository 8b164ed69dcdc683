import { describe, expect, it } from 'vitest';
import { loadAdapter } from '../load-adapter.ts';
import { frame, message, ours } from '../testing/fixtures.ts';

type Api = 'openai' | 'azure' | 'anthropic' | 'google' | 'bedrock';

const identity = { identity: ours, stripReasoning: false };
const converse = (type: string, payload: object): Buffer =>
  message({ ':event-type': type, ':message-type': 'event' }, JSON.stringify(payload));

/** Returns the text `a` in a provider's stream, with its usage objects before and after it. */
const streams: Record<Api, (before: object, after: object) => readonly (string | Buffer)[]> = {
  openai: chunks,
  azure: chunks,
  anthropic: (before, after) => [
    frame({ type: 'message_start', message: { usage: before } }),
    frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    frame({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } }),
    frame({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: after }),
    frame({ type: 'message_stop' }),
  ],
  google: (before, after) => [
    frame({ candidates: [{ content: { parts: [{ text: 'a' }] } }], usageMetadata: before }),
    frame({ candidates: [{ content: { parts: [] }, finishReason: 'STOP' }], usageMetadata: after }),
  ],
  bedrock: (before, after) => [
    converse('metadata', { usage: before }),
    converse('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'a' } }),
    converse('metadata', { usage: after }),
    converse('messageStop', { stopReason: 'end_turn' }),
  ],
};

function chunks(before: object, after: object): readonly string[] {
  return [
    frame({ choices: [{ index: 0, delta: { content: 'a' } }], usage: before }),
    frame({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    frame({ choices: [], usage: after }),
    frame('[DONE]'),
  ];
}

async function usageOf(api: Api, before: object, after: object) {
  const reader = (await loadAdapter(api)).openChatStream(identity);
  for (const piece of streams[api](before, after)) reader.push(Buffer.from(piece as string).toString('latin1'));
  reader.end();
  expect(reader).toMatchObject({ failure: undefined, isComplete: true, producedBytes: 1 });
  const { reported, reportedAtBytes } = reader;
  return reportedAtBytes === 1 ? reported?.usage : undefined;
}

const openAi = { prompt_tokens: 1000, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 900 } };

describe('a later usage of a stream', () => {
  it.each<[Api, string, object, object]>([
    ['openai', 'null details', openAi, { prompt_tokens: 1000, completion_tokens: 2, prompt_tokens_details: null }],
    ['openai', 'no details', openAi, { prompt_tokens: 1000, completion_tokens: 2, total_tokens: 1002 }],
    ['openai', 'zero details', openAi, { completion_tokens: 2, prompt_tokens_details: { cached_tokens: 0 } }],
    ['openai', 'other details', openAi, { completion_tokens: 2, prompt_tokens_details: { audio_tokens: 1 } }],
    ['openai', 'no prompt', openAi, { completion_tokens: 2 }],
    ['openai', 'cached tokens in its sum', openAi, { prompt_tokens: 1000, completion_tokens: 2, total_tokens: 1902 }],
    ['openai', 'no details', { ...openAi, total_tokens: 5000 }, { prompt_tokens: 1000, completion_tokens: 2 }],
    ['azure', 'null details', openAi, { prompt_tokens: 1000, completion_tokens: 2, prompt_tokens_details: null }],
    ['anthropic', 'no prompt', { input_tokens: 100, cache_read_input_tokens: 900 }, { output_tokens: 2 }],
    [
      'anthropic',
      'no cached part',
      { input_tokens: 100, cache_read_input_tokens: 900, output_tokens: 1 },
      { input_tokens: 100, cache_read_input_tokens: 0, output_tokens: 2 },
    ],
    [
      'google',
      'no cached part',
      { promptTokenCount: 1000, cachedContentTokenCount: 900, candidatesTokenCount: 1 },
      { promptTokenCount: 1000, candidatesTokenCount: 2 },
    ],
    [
      'bedrock',
      'no cached part',
      { inputTokens: 100, cacheReadInputTokens: 900, outputTokens: 1 },
      { inputTokens: 100, outputTokens: 2 },
    ],
  ])('of %s with %s keeps what an earlier one said about the prompt', async (api, _, before, after) => {
    expect(await usageOf(api, before, after)).toMatchObject({
      promptTokens: 1000,
      cachedTokens: 900,
      completionTokens: 2,
    });
  });

  it.each<[Api, object]>([
    ['openai', { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }],
    ['openai', { prompt_tokens: 1000, completion_tokens: 0, total_tokens: 1000 }],
    ['anthropic', { input_tokens: 0, output_tokens: 0 }],
    ['google', { promptTokenCount: 1000, totalTokenCount: 1000 }],
    ['bedrock', { inputTokens: 0, outputTokens: 0 }],
  ])('of %s without output tokens beside text is no usage: %j', async (api, usage) => {
    expect(await usageOf(api, {}, usage)).toBeUndefined();
  });

  it('without output tokens does not replace a good one', async () => {
    const none = { prompt_tokens: 0, completion_tokens: 0 };
    expect(await usageOf('openai', openAi, none)).toMatchObject({ promptTokens: 1000, completionTokens: 1 });
  });
});

describe('the usage of a whole answer', () => {
  const choices = [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }];
  const content = [{ type: 'text', text: 'a' }];
  const candidates = [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }];
  it.each<[Api, object]>([
    ['openai', { choices, usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 } }],
    ['azure', { choices, usage: { prompt_tokens: 9, completion_tokens: 0 } }],
    ['anthropic', { content, stop_reason: 'end_turn', usage: { input_tokens: 9, output_tokens: 0 } }],
    ['google', { candidates, usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } }],
    [
      'bedrock',
      { output: { message: { content } }, stopReason: 'end_turn', usage: { inputTokens: 0, outputTokens: 0 } },
    ],
  ])('of %s without output tokens beside text is none', async (api, body) => {
    const reading = (await loadAdapter(api)).readChat(Buffer.from(JSON.stringify(body)), identity);
    expect(reading).toMatchObject({ ok: true, producedBytes: 1, reported: undefined });
  });
});
