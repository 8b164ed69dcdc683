import type { ReasoningDetail } from '@sotto/wire';
import { claudeThinking, type ThinkingQuestion } from '../anthropic/claude-thinking.ts';
import { asString, type JsonObject } from '../json.ts';
import { detailFormats } from '../translate/reasoning-details.ts';

/** Whether a Bedrock model is Claude, by its id or that of an inference profile. */
export const isClaude = (model: string): boolean => /(?:^|\.)anthropic\.claude/.test(model);

/** Whether the model is asked to think, and the model's own fields that ask it. */
interface ConverseReasoning {
  readonly thinks: boolean;
  readonly fields: Readonly<Record<string, unknown>>;
}

/**
 * Maps the reasoning selection to the fields of the model's maker, which Converse passes on. It adds no field for
 * makers that do not document one.
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

/**
 * Converts a piece of `reasoningContent` to a detail. Signed text is Claude's and also valid at Anthropic's own
 * address. Redacted content is bytes that only Bedrock can pass on.
 */
export function reasoningDetail(piece: JsonObject, index: number | undefined): ReasoningDetail[] {
  const text = asString(piece.text);
  const signature = asString(piece.signature);
  const data = asString(piece.redactedContent);
  if (data) return [{ type: 'reasoning.encrypted', data, format: detailFormats.bedrock, index }];
  if (!text && !signature) return [];
  const format = detailFormats.anthropic;
  return [{ type: 'reasoning.text', ...(text ? { text } : {}), ...(signature ? { signature } : {}), format, index }];
}
