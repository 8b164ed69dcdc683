import type { ChatRequest } from '@sotto/wire';
import type { ChatTarget, UnsupportedRequest, UpstreamRequest } from '../adapter.ts';
import { jsonBody } from '../json.ts';
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
import { claudeSampling, claudeStops } from './claude-generation.ts';
import { claudeSchema } from './claude-schema.ts';
import { claudeThinking } from './claude-thinking.ts';

/**
 * Builds a chat request for the Messages API.
 * @see https://platform.claude.com/docs/en/api/messages
 */
export function messagesRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest | UnsupportedRequest {
  const conversation = readConversation(request.messages, [detailFormats.anthropic]);
  if ('unsupported' in conversation) return conversation;
  const unfit =
    unfitToolName(request.tools, /^[a-zA-Z0-9_-]{1,128}$/, 'letters, digits, _ and -, at most 128') ??
    unfitImage(conversation.turns, images);
  if (unfit !== undefined) return unfit;
  const tools = request.tools?.length ? request.tools : undefined;
  const forcesTool = tools !== undefined && request.tool_choice != null && !isFree(request.tool_choice);
  const { thinking, effort } = claudeThinking({ target, turns: conversation.turns, forcesTool });
  const thinks = thinking !== undefined && thinking.type !== 'disabled';
  const sampling = claudeSampling(request, target.upstreamModel, thinks);
  const format = request.response_format;
  const schema = format?.type === 'json_schema' ? format.json_schema.schema : undefined;
  const outputConfig = {
    effort,
    format: schema === undefined ? undefined : { type: 'json_schema', schema: claudeSchema(schema) },
  };
  const body = {
    top_k: sampling.topK,
    ...target.extraBody,
    model: target.upstreamModel,
    max_tokens: target.maxOutputTokens,
    system: systemBlocks(conversation, request.response_format),
    messages: conversation.turns.map(claudeMessage),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop_sequences: claudeStops(request),
    tools: tools?.map(claudeTool),
    tool_choice: tools === undefined ? undefined : claudeToolChoice(request),
    thinking,
    output_config: effort === undefined && schema === undefined ? undefined : outputConfig,
    metadata: userMetadata(request),
    stream: request.stream === true,
  };
  const accept = request.stream === true ? 'text/event-stream' : 'application/json';
  return { path: '/messages', body: jsonBody(body), accept };
}

/** @see https://platform.claude.com/docs/en/build-with-claude/vision */
const images: ImageSupport = {
  mediaTypes: new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
  takesUrls: true,
};

/** Anthropic asks for an opaque id, without anything that identifies a person. An address is left out. */
const userMetadata = ({ user }: ChatRequest): object | undefined =>
  user == null || user.includes('@') ? undefined : { user_id: user };

type ToolChoice = NonNullable<ChatRequest['tool_choice']>;

const isFree = (choice: ToolChoice): boolean => choice === 'auto' || choice === 'none';

const ephemeral = (cached: boolean): object => (cached ? { cache_control: { type: 'ephemeral' } } : {});

function systemBlocks({ system }: Conversation, format: ChatRequest['response_format']): object[] | undefined {
  const blocks: object[] = system.map(({ text, cached }) => ({ type: 'text', text, ...ephemeral(cached) }));
  const instruction = jsonInstruction(format);
  if (instruction !== undefined) blocks.push({ type: 'text', text: instruction });
  return blocks.length === 0 ? undefined : blocks;
}

const claudeMessage = (turn: Turn): object =>
  turn.role === 'user'
    ? { role: 'user', content: turn.blocks.map(userContent) }
    : { role: 'assistant', content: turn.blocks.flatMap(assistantContent) };

function userContent(block: UserBlock): object {
  switch (block.kind) {
    case 'text':
      return { type: 'text', text: block.text, ...ephemeral(block.cached) };
    case 'image': {
      const { source, cached } = block;
      const given =
        'url' in source
          ? { type: 'url', url: source.url }
          : { type: 'base64', media_type: source.mediaType, data: source.base64 };
      return { type: 'image', source: given, ...ephemeral(cached) };
    }
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: block.callId,
        content: block.text,
        ...ephemeral(block.cached),
      };
    default:
      return block satisfies never;
  }
}

function assistantContent(block: AssistantBlock): object[] {
  switch (block.kind) {
    case 'text':
      return [{ type: 'text', text: block.text, ...ephemeral(block.cached) }];
    case 'tool_call':
      return [{ type: 'tool_use', id: block.id, name: block.name, input: block.input }];
    case 'reasoning': {
      const { detail } = block;
      if (detail.type === 'reasoning.encrypted') return [{ type: 'redacted_thinking', data: detail.data }];
      return [{ type: 'thinking', thinking: detail.text ?? '', signature: detail.signature }];
    }
    default:
      return block satisfies never;
  }
}

type Tool = NonNullable<ChatRequest['tools']>[number];

const claudeTool = ({ function: { name, description, parameters, strict }, cache_control }: Tool): object => ({
  name,
  description,
  input_schema: strict === true ? claudeSchema(objectSchema(parameters)) : objectSchema(parameters),
  ...(strict === true ? { strict } : {}),
  ...ephemeral(cache_control != null),
});

function claudeToolChoice({ tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest): object | undefined {
  const alone = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice == null) return parallel === false ? { type: 'auto', ...alone } : undefined;
  if (choice === 'none') return { type: 'none' };
  if (choice === 'auto') return { type: 'auto', ...alone };
  if (choice === 'required') return { type: 'any', ...alone };
  return { type: 'tool', name: choice.function.name, ...alone };
}
