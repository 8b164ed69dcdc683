import type { ChatTarget } from '../adapter.ts';
import type { Turn } from '../translate/conversation.ts';
import { claudeGeneration } from './claude-generation.ts';

/** How a Claude model shall think: fields of the Messages API, which Bedrock takes under the same names. */
export interface ClaudeThinking {
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number; readonly display?: string };
  readonly effort?: string;
}

/** The smallest budget that the API takes. */
const smallestBudget = 1024;
/** The share of the output ceiling that each effort may think for. */
const budgetShares: Readonly<Record<string, number>> = {
  minimal: 0.1,
  low: 0.2,
  medium: 0.5,
  high: 0.8,
  xhigh: 0.95,
  max: 0.95,
};

export interface ThinkingQuestion {
  readonly target: ChatTarget;
  readonly turns: readonly Turn[];
  /** Whether the request forces the use of a tool, which a thinking model must be free in. */
  readonly forcesTool: boolean;
}

/**
 * Maps the reasoning selection onto what the model takes. Thinking comes out of the output ceiling, which is never
 * raised: it is what the hold was made for. Where thinking cannot be had (a tool is forced; the ceiling leaves no room;
 * a tool loop that began with thoughts which the client has not kept) the answer comes without.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/extended-thinking
 */
export function claudeThinking({ target, turns, forcesTool }: ThinkingQuestion): ClaudeThinking {
  const { reasoning, upstreamModel, maxOutputTokens } = target;
  if (reasoning === undefined) return {};
  const { hasThinkingBudget } = claudeGeneration(upstreamModel);
  if (reasoning === 'off') return { thinking: { type: 'disabled' } };
  if (!hasThinkingBudget) {
    const effort = reasoning.effort === 'minimal' ? 'low' : reasoning.effort;
    return {
      ...(forcesTool ? {} : { thinking: { type: 'adaptive', display: 'summarized' } }),
      ...(effort === undefined ? {} : { effort }),
    };
  }
  const share = budgetShares[reasoning.effort ?? 'medium'] ?? budgetShares.medium ?? 0;
  const budget = Math.max(smallestBudget, Math.floor(maxOutputTokens * share));
  if (forcesTool || budget >= maxOutputTokens || hasLostThoughts(turns)) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/**
 * Whether the conversation stands in the middle of a tool loop whose last assistant turn has no signed thoughts. With a
 * thinking budget the API refuses to go on from there.
 */
function hasLostThoughts(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  const isInLoop = last?.role === 'user' && last.blocks.some(({ kind }) => kind === 'tool_result');
  if (!isInLoop) return false;
  const before = turns.at(-2);
  return before?.role === 'assistant' && !before.blocks.some(({ kind }) => kind === 'reasoning');
}
