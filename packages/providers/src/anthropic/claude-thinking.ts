import type { ChatTarget } from '../adapter.ts';
import type { Turn } from '../translate/conversation.ts';
import { claudeGeneration } from './claude-generation.ts';

/** The thinking fields of the Messages API. Bedrock accepts them under the same names. */
export interface ClaudeThinking {
  readonly thinking?: { readonly type: string; readonly budget_tokens?: number; readonly display?: string };
  readonly effort?: string;
}

/** The smallest budget that the API accepts, in tokens. */
const smallestBudget = 1024;
/** The share of the output limit that each effort may use for thinking. */
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
  /** Whether the request forces the use of a tool. A model that thinks must be free to choose. */
  readonly forcesTool: boolean;
}

/**
 * Maps the reasoning selection to the model's parameters. Thinking counts towards the output limit, which is never
 * raised, because the hold was made for it. The answer comes without thinking if a tool is forced. With a budget, it
 * also does if the limit leaves no room, or in a tool loop whose thoughts the client has not kept.
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
 * Whether the conversation is inside a tool loop whose last assistant turn has no signed thoughts. With a thinking
 * budget, the API refuses to continue there.
 */
function hasLostThoughts(turns: readonly Turn[]): boolean {
  const last = turns.at(-1);
  const isInLoop = last?.role === 'user' && last.blocks.some(({ kind }) => kind === 'tool_result');
  if (!isInLoop) return false;
  const before = turns.at(-2);
  return before?.role === 'assistant' && !before.blocks.some(({ kind }) => kind === 'reasoning');
}
