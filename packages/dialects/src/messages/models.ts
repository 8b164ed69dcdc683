import { idForClaudeCode } from '../model-map.ts';
import type { OfferedModel } from '../offered-model.ts';

/**
 * Writes the catalog as Anthropic's list of models. Claude Code ignores ids that begin with neither `claude` nor
 * `anthropic`, so models of other makers have ids such as `anthropic/openai/gpt-5`. Requests may name either id.
 */
export function messagesModels(models: readonly OfferedModel[]): object {
  const data = models.map(({ id, name, created, contextLength, maxOutputTokens }) => ({
    type: 'model',
    id: idForClaudeCode(id),
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
    ...(contextLength === undefined ? {} : { max_input_tokens: contextLength }),
    ...(maxOutputTokens === undefined ? {} : { max_tokens: maxOutputTokens }),
  }));
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}
