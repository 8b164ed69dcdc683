import type { ChatRequest } from '@sotto/wire';

/**
 * The parameters that a Claude model accepts, by its id. The list of older models is complete, so any other id is
 * newer. Ids may have a platform's prefix or a date, such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
 */
export interface ClaudeGeneration {
  /** Whether the model thinks within a budget of tokens. Later models decide for themselves, guided by an effort. */
  readonly hasThinkingBudget: boolean;
  /** Whether the model accepts `top_k`, and `temperature` or `top_p` but not both. Later models refuse all three. */
  readonly takesSampling: boolean;
}

const withBudget = /claude-(?:3|instant|v?2|(?:opus|sonnet|haiku)-4(?:-[0-5](?!\d)|-20\d{6}|@|$))/;
const withSampling = /claude-(?:opus|sonnet)-4-6(?!\d)/;

/** @see https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking (models, and what each one refuses) */
export function claudeGeneration(model: string): ClaudeGeneration {
  const hasThinkingBudget = withBudget.test(model);
  return { hasThinkingBudget, takesSampling: hasThinkingBudget || withSampling.test(model) };
}

/** The sampling parameters. Undefined leaves one to the provider. */
export interface ClaudeSampling {
  readonly temperature: number | undefined;
  readonly topP: number | undefined;
  readonly topK: number | undefined;
}

/**
 * Returns the sampling that a Claude model accepts. It is empty if the model thinks or refuses sampling. Otherwise it
 * is `top_k` and either a temperature of at most 1, or `top_p`.
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

/** Returns the stop sequences that Claude accepts. It refuses those of white space alone. Undefined if none is left. */
export function claudeStops({ stop }: Pick<ChatRequest, 'stop'>): string[] | undefined {
  const kept = [stop ?? []].flat().filter((text) => text.trim() !== '');
  return kept.length === 0 ? undefined : kept;
}
