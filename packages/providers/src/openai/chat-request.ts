import type { ChatRequest } from '@sotto/wire';
import type { ChatTarget, UpstreamRequest } from '../adapter.ts';
import { asObject, jsonBody, wellFormedJson } from '../json.ts';
import { nineAlphanumerics, shortIds, withCallIds } from '../translate/call-ids.ts';
import { withRegisteredType } from '../translate/media-types.ts';
import { textOfDetails } from '../translate/reasoning-details.ts';
import { withSystemMessages } from './system-messages.ts';

/**
 * Builds the provider's request from validated fields, one by one. No other part of the body is sent upstream. `null`
 * means absent and is dropped. Usage is requested unless the provider refuses the field.
 */
export function chatRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest {
  const stream = request.stream === true;
  const { dialect } = target;
  const isOmitted = (field: OmittedField): boolean => dialect.omitted_fields?.includes(field) === true;
  const body = {
    top_k: request.top_k ?? undefined,
    min_p: request.min_p ?? undefined,
    repetition_penalty: request.repetition_penalty ?? undefined,
    ...target.extraBody,
    model: target.upstreamModel,
    messages: openAiMessages(request.messages, dialect),
    temperature: request.temperature ?? undefined,
    top_p: request.top_p ?? undefined,
    stop: request.stop ?? undefined,
    [dialect.seed_field ?? 'seed']: request.seed ?? undefined,
    frequency_penalty: request.frequency_penalty ?? undefined,
    presence_penalty: request.presence_penalty ?? undefined,
    [dialect.max_tokens_field]: target.maxOutputTokens,
    tools: request.tools?.length ? request.tools.map(openAiTool) : undefined,
    tool_choice: request.tools?.length ? (request.tool_choice ?? undefined) : undefined,
    parallel_tool_calls: request.tools?.length ? (request.parallel_tool_calls ?? undefined) : undefined,
    response_format: request.response_format ? formatWithoutNulls(request.response_format) : undefined,
    reasoning_effort: undefined,
    ...reasoningFields(target),
    user: isOmitted('user') ? undefined : (request.user ?? undefined),
    stream,
    stream_options: stream && !isOmitted('stream_options') ? { include_usage: true } : undefined,
  };
  return {
    path: '/chat/completions',
    body: jsonBody(body),
    accept: stream ? 'text/event-stream' : 'application/json',
  };
}

function reasoningFields({ reasoning, dialect }: ChatTarget): Readonly<Record<string, unknown>> {
  if (reasoning === 'off') return dialect.reasoning_off;
  return reasoning?.effort === undefined ? {} : { reasoning_effort: reasoning.effort };
}

type OmittedField = NonNullable<ChatTarget['dialect']['omitted_fields']>[number];
type Message = ChatRequest['messages'][number];
type Tool = NonNullable<ChatRequest['tools']>[number];
type Cacheable = { readonly cache_control?: unknown };
type Format = NonNullable<ChatRequest['response_format']>;

/** Converts the messages for providers of OpenAI's shape. Images of tool results follow the results as a user message. */
function openAiMessages(messages: readonly Message[], dialect: ChatTarget['dialect']): object[] {
  const sent: object[] = [];
  let images: ImagePart[] = [];
  const showImages = (): void => {
    if (images.length > 0) sent.push({ role: 'user', content: [{ type: 'text', text: imagesOfResults }, ...images] });
    images = [];
  };
  for (const given of withCallIds(
    withSystemMessages(messages, dialect.system_messages),
    dialect.tool_call_ids === 'nine_alphanumerics' ? nineAlphanumerics : shortIds,
  )) {
    const message = dialect.omitted_fields?.includes('name') ? { ...given, name: undefined } : given;
    if (message.role !== 'tool') showImages();
    if (message.role !== 'tool' || typeof message.content === 'string') sent.push(openAiMessage(message, dialect));
    else {
      const { texts, images: shown } = splitParts(message.content);
      sent.push({ ...message, content: texts.length === 0 ? imageFollows : texts });
      for (const image of shown) images.push(image);
    }
  }
  showImages();
  return sent;
}

type ImagePart = Extract<Exclude<Extract<Message, { role: 'tool' }>['content'], string>[number], { type: 'image_url' }>;

/** Replaces the images of a tool result, which may hold only text. The next text introduces the images. */
const imageFollows = '(see the image that follows)';
const imagesOfResults = 'Images of the tool results above:';

function splitParts(content: Exclude<Extract<Message, { role: 'tool' }>['content'], string>) {
  const texts: object[] = [];
  const images: ImagePart[] = [];
  for (const { cache_control: _, ...part } of content) {
    if (part.type === 'text') texts.push(part);
    else images.push(plainImage(part));
  }
  return { texts, images };
}

/**
 * Converts one message for every provider of OpenAI's shape. Providers that validate their input refuse a `refusal` of
 * null, reasoning of earlier answers, `cache_control` and empty lists. A `content` of null is usual beside tool calls.
 */
function openAiMessage(message: Message, dialect: ChatTarget['dialect']): object {
  if (message.role !== 'assistant') return withPlainParts(message);
  const { refusal, reasoning, reasoning_content, reasoning_details, ...rest } = message;
  if (rest.tool_calls?.length === 0) rest.tool_calls = undefined;
  if (Array.isArray(rest.content) && rest.content.length === 0)
    rest.content = rest.tool_calls === undefined ? '' : null;
  return {
    ...withPlainParts(rest),
    ...(rest.tool_calls === undefined ? {} : { tool_calls: rest.tool_calls?.map(withPlainArguments) }),
    ...(refusal == null ? {} : { refusal }),
    ...thoughtFields(message, dialect),
  };
}

/** The reasoning of an earlier answer, in the fields in which its provider takes it back. Others refuse such fields. */
function thoughtFields(
  { reasoning, reasoning_content, reasoning_details, tool_calls }: Extract<Message, { role: 'assistant' }>,
  dialect: ChatTarget['dialect'],
): object {
  const field = dialect.reasoning_field ?? (asObject(dialect.reasoning_off.reasoning) && 'reasoning_details');
  if (field === undefined) return {};
  const thought = reasoning ?? reasoning_content ?? textOfDetails(reasoning_details ?? []);
  if (field === 'reasoning_details') {
    return {
      ...(thought === undefined ? {} : { reasoning: thought }),
      ...(reasoning_details?.length ? { reasoning_details } : {}),
    };
  }
  // DeepSeek requires the field beside calls, also if another model that did not think made them.
  const isRequired = field === 'reasoning_content' && (tool_calls?.length ?? 0) > 0;
  return thought === undefined && !isRequired ? {} : { [field]: thought ?? '' };
}

type ToolCall = NonNullable<Extract<Message, { role: 'assistant' }>['tool_calls']>[number];

/** Arguments are JSON text within JSON text. Servers that parse them refuse halves of surrogate pairs inside. */
function withPlainArguments(call: ToolCall): ToolCall {
  const text = wellFormedJson(call.function.arguments);
  return text === call.function.arguments ? call : { ...call, function: { ...call.function, arguments: text } };
}

const withPlainParts = <Content extends { readonly content?: unknown }>(message: Content): Content =>
  Array.isArray(message.content) ? { ...message, content: message.content.map(plainPart) } : message;

type Part = Exclude<Extract<Message, { role: 'user' }>['content'], string>[number];

const plainPart = ({ cache_control: _, ...part }: Part & Cacheable): object =>
  part.type === 'image_url' ? plainImage(part) : part;

function plainImage(part: ImagePart): ImagePart {
  const url = withRegisteredType(part.image_url.url);
  return url === part.image_url.url ? part : { ...part, image_url: { ...part.image_url, url } };
}

const openAiTool = ({ cache_control: _, ...tool }: Tool): object =>
  tool.function.strict === null ? { ...tool, function: { ...tool.function, strict: undefined } } : tool;

const formatWithoutNulls = (format: Format): Format =>
  format.type === 'json_schema' && format.json_schema.strict === null
    ? { ...format, json_schema: { ...format.json_schema, strict: undefined } }
    : format;
