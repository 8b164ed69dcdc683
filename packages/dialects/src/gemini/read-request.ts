import { type ChatBody, noteOnDropped, type ReadRequest } from '../chat-body.ts';
import { asArray, asNumber, asObject, asObjects, asString, type JsonObject } from '../json.ts';
import { commonEffort, commonFields, effortOfBudget, requestObject } from '../request-fields.ts';
import type { Models } from '../translation.ts';
import { field, refuse } from './fields.ts';
import { jsonSchema } from './json-schema.ts';
import { readContents } from './read-contents.ts';
import { readToolConfig, readTools } from './read-tools.ts';

/** What the path of a request says. */
export interface GeminiCall {
  /** The name in the path, without `models/`. */
  readonly model: string;
  readonly method: string;
  /** Whether a stream is one of server-sent events. Otherwise it is a JSON list that grows. */
  readonly sse: boolean;
}

interface ReadGemini extends ReadRequest {
  /** Whether the caller asked for the text of thoughts. */
  readonly showsThoughts: boolean;
}

/**
 * Reads a request of Google's Gemini API as a chat request. Fields without a counterpart are ignored, among them `labels`.
 * Those that would be a broken promise are refused. Throws `invalid_request`.
 *
 * @see https://ai.google.dev/api/generate-content
 */
export function readGeminiRequest(value: unknown, { model, method }: GeminiCall, models: Models): ReadGemini {
  const request = requestObject(value);
  const config = asObject(field(request, 'generationConfig')) ?? {};
  refuseUnmet(request, config);
  const offered = readTools(request);
  const thinking = asObject(field(config, 'thinkingConfig'));
  const common = {
    model,
    provider: request.provider,
    temperature: config.temperature,
    top_p: field(config, 'topP'),
    stream: method === 'streamGenerateContent',
  };
  const own = {
    maxTokens: field(config, 'maxOutputTokens'),
    topK: field(config, 'topK'),
    stop: field(config, 'stopSequences'),
  };
  const body: ChatBody = {
    ...commonFields(common, own, models),
    messages: readContents(request),
    seed: asNumber(config.seed),
    presence_penalty: asNumber(field(config, 'presencePenalty')),
    frequency_penalty: asNumber(field(config, 'frequencyPenalty')),
    ...readToolConfig(request, offered),
    ...readThinking(thinking),
    ...readFormat(config),
  };
  const notes = noteOnDropped(offered, 'Google');
  return { body, notes, names: offered.names, showsThoughts: field(thinking, 'includeThoughts') === true };
}

/** Thresholds by which a provider blocks nothing. The service has no filters that it could set otherwise. */
const unfiltered: ReadonlySet<unknown> = new Set(['BLOCK_NONE', 'OFF', 'HARM_BLOCK_THRESHOLD_UNSPECIFIED']);

function refuseUnmet(request: JsonObject, config: JsonObject): void {
  if (field(request, 'cachedContent') != null)
    refuse('cachedContent', 'names content that the service would have kept. It keeps none: send all in `contents`.');
  for (const setting of asObjects(field(request, 'safetySettings')) ?? []) {
    if (unfiltered.has(setting.threshold)) continue;
    const asked = `\`${asString(setting.threshold)}\` for \`${asString(setting.category)}\``;
    refuse('safetySettings', `asks for ${asked}. This service filters no categories: leave it out, or use BLOCK_NONE.`);
  }
  if ((asNumber(field(config, 'candidateCount')) ?? 1) > 1)
    refuse('generationConfig.candidateCount', 'must be 1: the service gives one answer to a request.');
  const modes = (asArray(field(config, 'responseModalities')) ?? []).filter((mode) => mode !== 'TEXT');
  if (modes.length > 0)
    refuse('generationConfig.responseModalities', `asks for ${modes.join(', ')}. Only TEXT can be answered here.`);
  if (field(config, 'responseLogprobs') === true)
    refuse('generationConfig.responseLogprobs', 'cannot be met: the service gives no probabilities. Leave it out.');
}

/** Reads `thinkingConfig`. A budget of 0 turns reasoning off, -1 leaves the level to the provider, others become an effort. */
function readThinking(thinking: JsonObject | undefined): Pick<ChatBody, 'reasoning' | 'reasoning_effort'> {
  const level = commonEffort(asString(field(thinking, 'thinkingLevel'))?.toLowerCase());
  if (level !== undefined) return { reasoning_effort: level };
  const budget = asNumber(field(thinking, 'thinkingBudget'));
  if (budget === undefined) return {};
  if (budget <= 0) return { reasoning: { enabled: budget < 0 } };
  return { reasoning_effort: effortOfBudget(budget) };
}

/** Reads the type of the answer, and its schema in either of Google's forms. */
function readFormat(config: JsonObject): Pick<ChatBody, 'response_format'> {
  const type = asString(field(config, 'responseMimeType')) ?? 'text/plain';
  if (type === 'text/plain') return {};
  if (type !== 'application/json')
    refuse('generationConfig.responseMimeType', `is \`${type}\`; it may be text/plain or application/json.`);
  const google = asObject(field(config, 'responseSchema'));
  const schema = asObject(field(config, 'responseJsonSchema')) ?? (google && jsonSchema(google));
  if (schema === undefined) return { response_format: { type: 'json_object' } };
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } };
}
