import { claudeThinking, type ThinkingQuestion } from '../anthropic/claude-thinking.ts';

/** Whether a model of Bedrock's is Claude, by its id or that of an inference profile. */
export const isClaude = (model: string): boolean => /(?:^|\.)anthropic\.claude/.test(model);

/** Whether the model is asked to think, and the fields of its own by which it is. */
export interface ConverseReasoning {
  readonly thinks: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Maps the reasoning selection onto the fields of the model's maker, which Converse passes on. Makers that document no
 * such field get none.
 *
 * @see https://docs.aws.amazon.com/bedrock/latest/userguide/inference-reasoning.html
 */
export function converseReasoning(question: ThinkingQuestion): ConverseReasoning {
  const { reasoning, upstreamModel } = question.target;
  if (reasoning === undefined) return { thinks: false, fields: {} };
  if (isClaude(upstreamModel)) {
    const { thinking, effort } = claudeThinking(question);
    const output = effort === undefined ? {} : { output_config: { effort } };
    const thinks = thinking !== undefined && thinking.type !== 'disabled';
    return { thinks, fields: { ...(thinking === undefined ? {} : { thinking }), ...output } };
  }
  const effort = reasoning === 'off' ? undefined : (reasoning.effort ?? 'medium');
  if (/(?:^|\.)amazon\.nova/.test(upstreamModel)) {
    const config = effort === undefined ? { type: 'disabled' } : { type: 'enabled', maxReasoningEffort: effort };
    return { thinks: effort !== undefined, fields: { reasoningConfig: config } };
  }
  const takesEffort = effort !== undefined && /(?:^|\.)openai\./.test(upstreamModel);
  return { thinks: takesEffort, fields: takesEffort ? { reasoning_effort: effort } : {} };
}
