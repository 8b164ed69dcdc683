import type { Usage } from '@sotto/money';
import type { ReportedUsage } from '@sotto/providers';
import type { UsageAnswer } from '@sotto/wire';

/** Usage as the client sees it, without its cost: the provider's own, else what the broker counted. */
export const shownUsage = (reported: ReportedUsage | undefined, counted: Usage): Omit<UsageAnswer, 'cost'> =>
  reported?.shown ?? {
    prompt_tokens: counted.promptTokens,
    completion_tokens: counted.completionTokens,
    total_tokens: counted.promptTokens + counted.completionTokens,
  };
