import { type ChatBody, noteOnDropped, type ReadRequest, unreadable } from '../chat-body.ts';
import { asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { commonEffort, commonFields, requestObject } from '../request-fields.ts';
import type { Models } from '../translation.ts';
import { asksForSummary } from './compaction.ts';
import type { KeptAnswers } from './kept-answers.ts';
import { readInput } from './read-input.ts';
import { readToolChoice, readTools } from './read-tools.ts';

interface ReadResponses extends ReadRequest {
  /** The request as it came: an answer repeats some of its fields. */
  readonly asked: JsonObject;
  /** The items of the whole conversation. */
  readonly items: readonly JsonObject[];
  /** Whether the request asks for a compaction of the conversation instead of an answer. */
  readonly compacts: boolean;
}

/**
 * Reads a request of OpenAI's Responses API as a chat request. The service keeps no answers, and `kept` has some of this
 * process. So an absent `store` means no longer than that, and fields that need more are refused. Fields
 * without a counterpart are ignored, among them those that would tell a provider whose requests belong together:
 * `prompt_cache_key`, `metadata`, `client_metadata`, `safety_identifier` and `user`. Throws `invalid_request`.
 *
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export function readResponsesRequest(value: unknown, models: Models, kept?: KeptAnswers): ReadResponses {
  const asked = requestObject(value);
  refuseKept(asked);
  const items = conversationOf(asked, kept);
  const tools = readTools(asked.tools);
  const { messages, dropped } = readInput({ ...asked, input: items });
  const compacts = items.at(-1)?.type === 'compaction_trigger';
  const body: ChatBody = {
    ...commonFields(asked, { maxTokens: asked.max_output_tokens }, models),
    messages,
    ...readToolChoice(asked, tools),
    // An effort that not every model takes is left out: the service would refuse it for the others.
    reasoning_effort: commonEffort(asObject(asked.reasoning)?.effort),
    ...readFormat(asked),
  };
  const ofItems = `Left out items of the types that only OpenAI can serve: ${dropped.join(', ')}.`;
  const notes = [...noteOnDropped(tools, 'OpenAI'), ...(dropped.length === 0 ? [] : [ofItems])];
  return { body: compacts ? asksForSummary(body) : body, notes, names: tools.names, asked, items, compacts };
}

/** Returns the items of the request, after those of the answer that it continues. */
function conversationOf(asked: JsonObject, kept: KeptAnswers | undefined): readonly JsonObject[] {
  const { input, previous_response_id: previous } = asked;
  const own = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : asObjects(input);
  if (previous == null) {
    if (own === undefined) throw unreadable('`input` must be a string or a list of items.', 'input');
    return own;
  }
  const before = kept?.find(String(previous));
  if (before !== undefined) return [...before, ...(own ?? [])];
  const message =
    'The answer that `previous_response_id` names is not kept here. The service keeps none, and this proxy only recent ones ' +
    'in its memory, without `store: false`. Send the whole conversation in `input`.';
  throw unreadable(message, 'previous_response_id');
}

/** Refuses what needs an answer that was kept. Ignoring it would answer another question than the one that was asked. */
function refuseKept(asked: JsonObject): void {
  const refused = (param: string, remedy: string): never => {
    throw unreadable(`\`${param}\` needs answers that the service keeps. It keeps none: ${remedy}.`, param);
  };
  if (asked.conversation != null) refused('conversation', 'send the whole conversation in `input`');
  if (asked.store === true) refused('store', 'omit it, and this proxy keeps the answer in its memory for a while');
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
