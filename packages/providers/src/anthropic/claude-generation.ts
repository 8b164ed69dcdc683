import type { ChatRequest } from '@sotto/wire';

/**
 * What a Claude model takes, told by its id. The list of the older ones is closed; whatever is not on it is newer. Works
 * for ids with a platform's prefix or a date, such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
 */
export interface ClaudeGeneration {
  /** Thinks within a budget of tokens; later models decide for themselves, guided by an effort. */
  readonly hasThinkingBudget: boolean;
  /** Takes `temperature` and `top_p`, though not both at once, and `top_k`; later models refuse all three. */
  readonly takesSampling: boolean;
}

const withBudget = /claude-(?:3|instant|v?2|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-20\d{6}|@|$))/;
const withSampling = /claude-(?:opus|sonnet)-4-6(?!\d)/;

/** @see https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking (models, and what each one refuses) */
export function claudeGeneration(model: string): ClaudeGeneration {
  const hasThinkingBudget = withBudget.test(model);
  return { hasThinkingBudget, takesSampling: hasThinkingBudget || withSampling.test(model) };
}

/** How tokens are sampled; undefined: as the provider does it. */
export interface ClaudeSampling {
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
}

/**
 * The sampling that a Claude model takes: none where it thinks or refuses it, else `top_k`, and either a temperature of at
 * most 1 or `top_p`.
 */
export function claudeSampling(
  { temperature, top_p: topP, top_k: topK }: Pick<ChatRequest, 'temperature' | 'top_p' | 'top_k'>,
  model: string,
  thinks: boolean,
): ClaudeSampling {
  if (thinks || !claudeGeneration(model).takesSampling) {
    return { temperature: undefined, topP: undefined, topK: undefined };
  }
  return {
    temperature: temperature == null ? undefined : Math.min(temperature, 1),
    topP: temperature == null ? (topP ?? undefined) : undefined,
    topK: topK ?? undefined,
  };
}
