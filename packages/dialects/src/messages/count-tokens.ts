import { estimateTokens } from '../estimate-tokens.ts';
import { requestObject } from '../request-fields.ts';
import { readMessages } from './read-messages.ts';
import { readTools } from './read-tools.ts';

/** Estimates the tokens of a `POST /v1/messages/count_tokens` on this machine, as `estimateTokens` does. */
export function countTokens(value: unknown): { readonly input_tokens: number } {
  const request = requestObject(value);
  const { tools } = readTools(request);
  return { input_tokens: estimateTokens(readMessages(request), tools) };
}
