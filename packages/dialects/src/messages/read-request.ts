import { type ChatBody, noteOnDropped, onlyForeignTools, type ReadRequest, unreadable } from '../chat-body.ts';
import { asNumber, asObject, asObjects, type JsonObject } from '../json.ts';
import { commonEffort, commonFields, effortOfBudget, requestObject } from '../request-fields.ts';
import type { Models } from '../translation.ts';
import { readMessages } from './read-messages.ts';
import { readToolChoice, readTools } from './read-tools.ts';

/**
 * Reads a request of Anthropic's Messages API as a chat request. Fields without a counterpart are ignored, among them
 * `context_management`, `service_tier` and `metadata`: its `user_id` would tell the provider whose requests belong
 * together. Throws `invalid_request`.
 *
 * @see https://platform.claude.com/docs/en/api/messages
 */
export function readMessagesRequest(value: unknown, models: Models): ReadRequest {
  const request = requestObject(value);
  if (request.thread != null) throw unreadable(noThreads, 'thread');
  const servers = (asObjects(request.mcp_servers) ?? []).map(({ name, url }) => String(name ?? url));
  if (servers.length > 0) throw onlyForeignTools(servers, 'Anthropic', 'mcp_servers');
  const offered = readTools(request);
  const own = { maxTokens: request.max_tokens, topK: request.top_k, stop: request.stop_sequences };
  const body: ChatBody = {
    ...commonFields(request, own, models),
    messages: readMessages(request),
    tools: offered.tools.length === 0 ? undefined : offered.tools,
    ...readToolChoice(request.tool_choice, offered),
    ...readThinking(request),
    ...readFormat(request),
  };
  return { body, notes: noteOnDropped(offered, 'Anthropic'), names: offered.names };
}

/** Anthropic's SDK then sends the whole conversation: `errorBody` tells it so in its own words. */
const noThreads = '`thread` needs a conversation that the service keeps. It keeps none: send all of it in `messages`.';

/** Reads the schema of a structured output, under its present and its former name. */
function readFormat(request: JsonObject): Pick<ChatBody, 'response_format'> {
  const format = asObject(asObject(request.output_config)?.format) ?? asObject(request.output_format);
  const schema = asObject(format?.schema);
  if (format?.type !== 'json_schema' || schema === undefined) return {};
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema, strict: true } } };
}

/**
 * Reads `thinking` and `output_config.effort` as a reasoning selection. The service fits it to the model:
 *
 * - `disabled` turns reasoning off, or to the lowest level of a model that cannot stop.
 * - An effort is passed on as it is.
 * - A budget of tokens becomes an effort. The chat interface has no budgets.
 * - `adaptive` without an effort leaves the level to the provider.
 *
 * Without either field, everything is left to the provider.
 */
function readThinking(body: JsonObject): Pick<ChatBody, 'reasoning' | 'reasoning_effort'> {
  const thinking = asObject(body.thinking);
  if (thinking?.type === 'disabled') return { reasoning: { enabled: false } };
  const effort = commonEffort(asObject(body.output_config)?.effort);
  if (effort !== undefined) return { reasoning_effort: effort };
  if (thinking?.type === 'enabled') return { reasoning_effort: effortOfBudget(asNumber(thinking.budget_tokens)) };
  return thinking?.type === 'adaptive' ? { reasoning: { enabled: true } } : {};
}
