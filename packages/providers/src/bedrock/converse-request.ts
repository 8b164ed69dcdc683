import type { ChatRequest } from '@sotto/wire';
import type { ChatTarget, UnsupportedRequest, UpstreamRequest } from '../adapter.ts';
import { claudeSampling, claudeStops } from '../anthropic/claude-generation.ts';
import { claudeSchema } from '../anthropic/claude-schema.ts';
import { asObject, jsonBody } from '../json.ts';
import {
  type AssistantBlock,
  type Conversation,
  jsonInstruction,
  readConversation,
  type Turn,
  type UserBlock,
} from '../translate/conversation.ts';
import { type ImageSupport, unfitImage } from '../translate/image-types.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { unfitToolName } from '../translate/tool-calls.ts';
import { objectSchema } from '../translate/tool-schema.ts';
import { converseReasoning, isClaude } from './reasoning.ts';

/**
 * Builds a chat request for Converse and ConverseStream.
 * @see https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
 */
export function converseRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest | UnsupportedRequest {
  const conversation = readConversation(request.messages, [detailFormats.anthropic, detailFormats.bedrock]);
  if ('unsupported' in conversation) return conversation;
  const { turns } = conversation;
  const unfit =
    unfitToolName(request.tools, /^[a-zA-Z0-9_-]{1,64}$/, 'letters, digits, _ and -, at most 64') ??
    unfitImage(turns, images) ??
    unfitTools(request, turns);
  if (unfit !== undefined) return unfit;
  const kept = cachePointsOf(target.upstreamModel);
  const toolConfig = request.tool_choice === 'none' ? undefined : converseTools(request, target.upstreamModel, kept);
  const choice = request.tool_choice;
  const forcesTool = toolConfig !== undefined && choice != null && choice !== 'auto';
  const { thinks, fields } = converseReasoning({ target, turns, forcesTool });
  const additional = { ...asObject(target.extraBody.additionalModelRequestFields), ...fields };
  const body = {
    ...target.extraBody,
    system: systemBlocks(conversation, request.response_format, kept),
    messages: beginningWithUser(turns).map((turn) => converseMessage(turn, kept)),
    inferenceConfig: {
      maxTokens: target.maxOutputTokens,
      ...sampling(request, target.upstreamModel, thinks),
      stopSequences: isClaude(target.upstreamModel) ? claudeStops(request) : stopsOf(request),
    },
    toolConfig,
    outputConfig: outputConfig(request, target.upstreamModel),
    additionalModelRequestFields: Object.keys(additional).length === 0 ? undefined : additional,
  };
  const model = encodeURIComponent(target.upstreamModel);
  return request.stream === true
    ? {
        path: `/model/${model}/converse-stream`,
        body: jsonBody(body),
        accept: 'application/vnd.amazon.eventstream',
      }
    : { path: `/model/${model}/converse`, body: jsonBody(body), accept: 'application/json' };
}

/** Converse refuses a conversation that begins with the assistant, such as a greeting. */
const beginningWithUser = (turns: readonly Turn[]): readonly Turn[] =>
  turns[0]?.role === 'assistant'
    ? [{ role: 'user', blocks: [{ kind: 'text', text: '(start)', cached: false }] }, ...turns]
    : turns;

const stopsOf = ({ stop }: ChatRequest): string[] | undefined => (stop == null ? undefined : [stop].flat());

const imageFormats: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpeg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
};

const images: ImageSupport = { mediaTypes: new Set(Object.keys(imageFormats)), takesUrls: false };

/**
 * Converse refuses calls and results in a conversation if the request offers no tools. It cannot offer and forbid
 * tools.
 */
function unfitTools(
  { tools, tool_choice: choice }: ChatRequest,
  turns: readonly Turn[],
): UnsupportedRequest | undefined {
  const hasCalls = turns.some(({ blocks }) => blocks.some(({ kind }) => kind === 'tool_call'));
  if (!hasCalls) return undefined;
  if (!tools?.length) {
    const unsupported = '`tools` must be sent again with a conversation that has tool calls, for this model.';
    return { unsupported, param: 'tools' };
  }
  if (choice !== 'none') return undefined;
  const unsupported = '`tool_choice` cannot be `none` in a conversation that has tool calls, for this model.';
  return { unsupported, param: 'tool_choice' };
}

const cachePoint = (cached: boolean): object[] => (cached ? [{ cachePoint: { type: 'default' } }] : []);

type KeptBlocks = (blocks: object[]) => object[];

/** Keeps cache points only for models that cache prompts. Other models refuse them. */
const cachePointsOf = (model: string): KeptBlocks =>
  isClaude(model) || model.includes('amazon.nova')
    ? (blocks) => blocks
    : (blocks) => blocks.filter((block) => !('cachePoint' in block));

function systemBlocks(
  { system }: Conversation,
  format: ChatRequest['response_format'],
  kept: KeptBlocks,
): object[] | undefined {
  const blocks: object[] = kept(system.flatMap(({ text, cached }) => [{ text }, ...cachePoint(cached)]));
  const instruction = jsonInstruction(format);
  if (instruction !== undefined) blocks.push({ text: instruction });
  return blocks.length === 0 ? undefined : blocks;
}

const converseMessage = (turn: Turn, kept: KeptBlocks): object =>
  turn.role === 'user'
    ? { role: 'user', content: kept(turn.blocks.flatMap(userContent)) }
    : { role: 'assistant', content: kept(turn.blocks.flatMap(assistantContent)) };

function userContent(block: UserBlock): object[] {
  switch (block.kind) {
    case 'text':
      return [{ text: block.text }, ...cachePoint(block.cached)];
    case 'image': {
      const { source } = block;
      if ('url' in source) return [];
      const image = { format: imageFormats[source.mediaType], source: { bytes: source.base64 } };
      return [{ image }, ...cachePoint(block.cached)];
    }
    case 'tool_result': {
      const content = block.text === '' ? [] : [{ text: block.text }];
      return [{ toolResult: { toolUseId: block.callId, content } }, ...cachePoint(block.cached)];
    }
    default:
      return block satisfies never;
  }
}

function assistantContent(block: AssistantBlock): object[] {
  switch (block.kind) {
    case 'text':
      return [{ text: block.text }, ...cachePoint(block.cached)];
    case 'tool_call':
      return [{ toolUse: { toolUseId: block.id, name: block.name, input: block.input } }];
    case 'reasoning': {
      const { detail } = block;
      if (detail.type === 'reasoning.encrypted') {
        return detail.format === detailFormats.bedrock ? [{ reasoningContent: { redactedContent: detail.data } }] : [];
      }
      return [{ reasoningContent: { reasoningText: { text: detail.text ?? '', signature: detail.signature } } }];
    }
    default:
      return block satisfies never;
  }
}

function sampling(
  request: ChatRequest,
  model: string,
  thinks: boolean,
): { readonly temperature: number | undefined; readonly topP: number | undefined } {
  if (isClaude(model)) {
    const { temperature, topP } = claudeSampling(request, model, thinks);
    return { temperature, topP };
  }
  const { temperature, top_p: topP } = request;
  return { temperature: temperature == null ? undefined : Math.min(temperature, 1), topP: topP ?? undefined };
}

function converseTools(
  { tools, tool_choice: choice }: ChatRequest,
  model: string,
  kept: KeptBlocks,
): object | undefined {
  if (!tools?.length) return undefined;
  const offered = tools.flatMap(({ function: { name, description, parameters, strict }, cache_control }) => [
    {
      toolSpec: {
        name,
        description: description || undefined,
        inputSchema: {
          json: strict === true && isClaude(model) ? claudeSchema(objectSchema(parameters)) : objectSchema(parameters),
        },
        ...(strict === true ? { strict } : {}),
      },
    },
    ...cachePoint(cache_control != null),
  ]);
  return { tools: kept(offered), toolChoice: toolChoice(choice) };
}

function toolChoice(choice: ChatRequest['tool_choice']): object | undefined {
  if (choice == null || choice === 'none') return undefined;
  if (choice === 'auto') return { auto: {} };
  return choice === 'required' ? { any: {} } : { tool: { name: choice.function.name } };
}

/** Converse takes the schema as text. Claude's decoder has the same limits here as at Anthropic. */
function outputConfig({ response_format: format }: ChatRequest, model: string): object | undefined {
  if (format?.type !== 'json_schema' || format.json_schema.schema === undefined) return undefined;
  const { name, description, schema } = format.json_schema;
  const jsonSchema = { name, description, schema: JSON.stringify(isClaude(model) ? claudeSchema(schema) : schema) };
  return { textFormat: { type: 'json_schema', structure: { jsonSchema } } };
}
