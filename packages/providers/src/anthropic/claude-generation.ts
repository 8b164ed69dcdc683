import type { ChatRequest } from '@sotto/wire';

/**
 * What a Claude model takes, told by its id. The list of the older ones is closed; whatever is not on it is newer. Works
 * for ids with a platform's prefix or a date, such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
 */
export interface ClaudeGeneration {
  /** Thinks within a budget of tokens; later models decide for themselves, guided by an effort. */
  readonly hasThinkingBudget: boolean;
  /** Takes `temperature` and `top_p`, though not both at once; later models refuse both. */
  readonly takesSampling: boolean;
}

const withBudget = /claude-(?:3|instant|v?2|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-20\d{6}|@|$))/;
const withSampling = /claude-(?:opus|sonnet)-4-6(?!\d)/;

/** @see https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking (models, and what each one refuses) */
export function claudeGeneration(model: string): ClaudeGeneration {
  const hasThinkingBudget = withBudget.test(model);
  return { hasThinkingBudget, takesSampling: hasThinkingBudget || withSampling.test(model) };
}

/**
 * The sampling that a Claude model takes: none where it thinks or refuses it, else one of the two; temperatures above 1 are
 * refused.
 */
export function claudeSampling(
  { temperature, top_p: topP }: Pick<ChatRequest, 'temperature' | 'top_p'>,
  model: string,
  thinks: boolean,
): { readonly temperature: number | undefined; readonly topP: number | undefined } {
  if (thinks || !claudeGeneration(model).takesSampling) return { temperature: undefined, topP: undefined };
  if (temperature == null) return { temperature: undefined, topP: topP ?? undefined };
  return { temperature: Math.min(temperature, 1), topP: undefined };
}
