import { type AnswerBlock, blocksOf, isCutOff, requireArguments } from '../answer-blocks.ts';
import type { AnswerUsage } from '../chat-stream.ts';
import { type KeptReasoning, sealReasoning } from '../reasoning-envelope.ts';
import type { ToolNames } from '../tool-names.ts';
import type { ChatAnswer } from '../translation.ts';

export interface WritingOptions {
  readonly names: ToolNames;
  /** Whether the caller asked for the text of thoughts. */
  readonly showsThoughts: boolean;
}

/** Writes a whole chat answer as Google's API does. */
export function writeGenerated({ id, model, choices: [choice], usage }: ChatAnswer, options: WritingOptions): object {
  const finish = choice?.finish_reason ?? 'stop';
  const writer = new PartWriter(options);
  const parts = blocksOf(choice?.message).flatMap((block) => {
    const text = block.kind === 'call' ? [] : writer.text(block.kind, block.text);
    return [...text, ...writer.end(block, finish)];
  });
  return {
    candidates: [candidate(parts, finishReason(finish))],
    usageMetadata: usageMetadata(usage),
    modelVersion: model,
    responseId: id,
  };
}

export const candidate = (parts: readonly object[], finish?: string): object => ({
  content: { role: 'model', parts },
  ...(finish === undefined ? {} : { finishReason: finish }),
  index: 0,
});

/** Google's API has no reason of its own for a call. */
export function finishReason(finish: string): string {
  if (finish === 'length') return 'MAX_TOKENS';
  return finish === 'content_filter' ? 'SAFETY' : 'STOP';
}

/** Writes the counts of an answer. A chat counts thoughts within the completion; Google's API counts them apart. */
export function usageMetadata(usage: AnswerUsage | undefined): object {
  const prompt = usage?.prompt_tokens ?? 0;
  const completion = usage?.completion_tokens ?? 0;
  const thoughts = Math.min(usage?.completion_tokens_details?.reasoning_tokens ?? 0, completion);
  const cached = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: completion - thoughts,
    ...(thoughts === 0 ? {} : { thoughtsTokenCount: thoughts }),
    ...(cached === 0 ? {} : { cachedContentTokenCount: cached }),
    totalTokenCount: prompt + completion,
  };
}

/**
 * Writes blocks as parts. Clients drop the text of thoughts and keep the signature of the part that follows. So all that a
 * provider needs back travels in that signature.
 */
export class PartWriter {
  readonly #options: WritingOptions;
  #thoughts: KeptReasoning[] = [];

  constructor(options: WritingOptions) {
    this.#options = options;
  }

  /** Writes a piece of a block's text. */
  text(kind: Exclude<AnswerBlock['kind'], 'call'>, text: string): object[] {
    if (text === '') return [];
    if (kind !== 'reasoning') return [{ text, ...this.#signature() }];
    return this.#options.showsThoughts ? [{ text, thought: true }] : [];
  }

  /**
   * Writes what the end of a block adds. A call that was cut off is left out. Throws an
   * `UnwritableAnswer` for another call whose arguments are no JSON object.
   */
  end(block: AnswerBlock, finish: string | undefined): object[] {
    if (block.kind === 'reasoning') this.#thoughts.push(block);
    if (block.kind !== 'call') return [];
    if (isCutOff(block, finish)) return [];
    const { name } = this.#options.names.named(block.name);
    const args = requireArguments(block.text, name);
    return [{ functionCall: { id: block.id, name, args }, ...this.#signature() }];
  }

  #signature(): { readonly thoughtSignature?: string } {
    const thoughts = this.#thoughts;
    this.#thoughts = [];
    if (thoughts.length === 0) return {};
    const text = thoughts.map((thought) => thought.text).join('');
    return { thoughtSignature: sealReasoning({ text, details: thoughts.flatMap(({ details }) => details) }) };
  }
}
