import type { ChatTarget } from '../adapter.ts';

/** Tokens to think for, as Google maps the efforts of the OpenAI shape for models with a budget. */
const budgets: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 };
/** Of the ceiling, so that something is left to answer with. */
const mostOfCeiling = 0.8;
/** Some models refuse less; with so little room the model decides. */
const leastBudget = 512;
const levels = new Set(['minimal', 'low', 'medium', 'high']);

/** Gemini up to 2.5: a budget instead of a level, and no signatures asked back. Whatever is not known is newer. */
export const isOlderGemini = (model: string): boolean => /gemini-(?:1|2)(?:[.-]|$)/.test(model);

/**
 * `thinkingConfig` for a reasoning selection. What is thought comes out of the output ceiling, as with everybody else.
 * @see https://ai.google.dev/gemini-api/docs/thinking and https://ai.google.dev/gemini-api/docs/openai#thinking
 */
export function geminiThinking({ reasoning, upstreamModel, maxOutputTokens }: ChatTarget): object | undefined {
  if (reasoning === undefined) return undefined;
  const isOlder = isOlderGemini(upstreamModel);
  if (reasoning === 'off') return isOlder ? { thinkingBudget: 0 } : { thinkingLevel: 'minimal' };
  const { effort } = reasoning;
  if (effort === undefined) return { includeThoughts: true };
  if (isOlder) {
    const thinkingBudget = Math.min(budgets[effort] ?? 24_576, Math.floor(maxOutputTokens * mostOfCeiling));
    return thinkingBudget < leastBudget ? { includeThoughts: true } : { includeThoughts: true, thinkingBudget };
  }
  return { includeThoughts: true, thinkingLevel: levels.has(effort) ? effort : 'high' };
}
