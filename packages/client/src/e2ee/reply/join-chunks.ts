import type { OpenCompletion } from './completion.ts';

/** Makes the completion that a stream's chunks add up to: for families that only stream. */
export function joinChunks(chunks: readonly OpenCompletion[]): OpenCompletion {
  const texts: Record<string, string> = {};
  let finishReason: string | null = null;
  let usage: unknown;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices) {
      finishReason = choice.finish_reason ?? finishReason;
      for (const name of ['content', 'reasoning', 'refusal']) {
        const piece = choice.delta?.[name];
        if (typeof piece === 'string') texts[name] = (texts[name] ?? '') + piece;
      }
    }
  }
  const [first] = chunks;
  return {
    id: first?.id ?? '',
    object: 'chat.completion',
    created: first?.created ?? 0,
    model: first?.model ?? '',
    system_fingerprint: '',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: null, refusal: null, ...texts },
        logprobs: null,
        finish_reason: finishReason,
      },
    ],
    ...(usage === undefined ? {} : { usage }),
  };
}
