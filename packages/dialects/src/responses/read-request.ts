import { type ChatBody, unreadable } from '../chat-body.ts';
import { asObject, asString, type JsonObject } from '../json.ts';
import { commonEffort, commonFields, requestObject } from '../request-fields.ts';
import type { ToolNames } from '../tool-names.ts';
import type { Models } from '../translation.ts';
import { readInput } from './read-input.ts';
import { readToolChoice, readTools } from './read-tools.ts';

export interface ReadRequest {
  readonly body: ChatBody;
  readonly notes: readonly string[];
  readonly names: ToolNames;
  /** The request as it came: an answer repeats some of its fields. */
  readonly asked: JsonObject;
}

/**
 * Reads a request of OpenAI's Responses API as a chat request. It is complete in itself: the service keeps no answers.
 * An absent `store` therefore means false, unlike at OpenAI, and fields that need a kept answer are refused. Fields
 * without a counterpart are ignored, among them those that would tell a provider whose requests belong together:
 * `prompt_cache_key`, `metadata`, `client_metadata`, `safety_identifier` and `user`. Throws `invalid_request`.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export function readResponsesRequest(value: unknown, models: Models): ReadRequest {
  const asked = requestObject(value);
  refuseKept(asked);
  const tools = readTools(asked.tools);
  const { messages, dropped } = readInput(asked);
  const body: ChatBody = {
    ...commonFields(asked, asked.max_output_tokens, models),
    messages,
    ...readToolChoice(asked, tools),
    // An effort that not every model takes is left out: the service would refuse it for the others.
    reasoning_effort: commonEffort(asObject(asked.reasoning)?.effort),
    ...readFormat(asked),
  };
  const notes = [...noteOn('hosted tools', tools.dropped), ...noteOn('items of the types', dropped)];
  return { body, notes, names: tools.names, asked };
}

const noteOn = (what: string, dropped: readonly string[]): string[] =>
  dropped.length === 0 ? [] : [`Left out ${what} that only OpenAI can serve: ${[...new Set(dropped)].join(', ')}.`];

/** Refuses what needs an answer that was kept. Ignoring it would answer another question than the one that was asked. */
function refuseKept(asked: JsonObject): void {
  const refused = (param: string, remedy: string): never => {
    throw unreadable(`\`${param}\` needs answers that the service keeps. It keeps none: ${remedy}.`, param);
  };
  if (asked.previous_response_id != null) refused('previous_response_id', 'send the whole conversation in `input`');
  if (asked.conversation != null) refused('conversation', 'send the whole conversation in `input`');
  if (asked.store === true) refused('store', 'send `store: false` or omit it');
  if (asked.background === true) refused('background', 'wait for the answer, or stream it');
  if (asked.prompt != null) refused('prompt', 'send its text in `instructions` or `input`');
}

function readFormat(asked: JsonObject): Pick<ChatBody, 'response_format'> {
  const format = asObject(asObject(asked.text)?.format);
  if (format?.type === 'json_object') return { response_format: { type: 'json_object' } };
  if (format?.type !== 'json_schema') return {};
  const described = {
    name: asString(format.name) ?? 'answer',
    description: asString(format.description),
    schema: asObject(format.schema),
    strict: typeof format.strict === 'boolean' ? format.strict : undefined,
  };
  return { response_format: { type: 'json_schema', json_schema: described } };
}
