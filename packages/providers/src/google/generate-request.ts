import type { ChatRequest } from '@sotto/wire';
import type { ChatTarget, UnsupportedRequest, UpstreamRequest } from '../adapter.ts';
import { asObject, jsonBody } from '../json.ts';
import { type AssistantBlock, readConversation, type Turn, type UserBlock } from '../translate/conversation.ts';
import { type ImageSupport, unfitImage } from '../translate/image-types.ts';
import { detailFormats } from '../translate/reasoning-details.ts';
import { unfitToolName } from '../translate/tool-calls.ts';

const mostStops = 5;

/**
 * Builds a chat request for `generateContent` and `streamGenerateContent`.
 * @see https://ai.google.dev/api/generate-content
 */
export function generateRequest(request: ChatRequest, target: ChatTarget): UpstreamRequest | UnsupportedRequest {
  const conversation = readConversation(request.messages, [detailFormats.google]);
  if ('unsupported' in conversation) return conversation;
  const unfit =
    unfitToolName(request.tools, /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/, 'letters, digits, _ . and -, at most 64') ??
    unfitImage(conversation.turns, images);
  if (unfit !== undefined) return unfit;
  if (Array.isArray(request.stop) && request.stop.length > mostStops) {
    return { unsupported: `\`stop\` must be at most ${mostStops} strings for this model.`, param: 'stop' };
  }
  const tools = request.tools?.length ? request.tools : undefined;
  const system = conversation.system.map(({ text }) => ({ text }));
  const asksSignatures = !isOlderGemini(target.upstreamModel);
  const body = {
    ...target.extraBody,
    systemInstruction: system.length === 0 ? undefined : { parts: system },
    contents: conversation.turns.map((turn) => geminiContent(turn, asksSignatures)),
    tools: tools === undefined ? undefined : [{ functionDeclarations: tools.map(declaration) }],
    toolConfig: tools === undefined ? undefined : toolConfig(request),
    generationConfig: {
      topK: request.top_k ?? undefined,
      ...asObject(target.extraBody.generationConfig),
      ...generationConfig(request, target),
    },
  };
  const model = encodeURIComponent(target.upstreamModel);
  return request.stream === true
    ? {
        path: `/models/${model}:streamGenerateContent?alt=sse`,
        body: jsonBody(body),
        accept: 'text/event-stream',
      }
    : { path: `/models/${model}:generateContent`, body: jsonBody(body), accept: 'application/json' };
}

/** @see https://ai.google.dev/gemini-api/docs/image-understanding#supported-formats */
const images: ImageSupport = {
  mediaTypes: new Set(['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif']),
  takesUrls: false,
};

function geminiContent(turn: Turn, asksSignatures: boolean): object {
  if (turn.role === 'user') return { role: 'user', parts: turn.blocks.flatMap(userParts) };
  return { role: 'model', parts: modelParts(turn.blocks, asksSignatures) };
}

function userParts(block: UserBlock): object[] {
  switch (block.kind) {
    case 'text':
      return [{ text: block.text }];
    case 'image': {
      const { source } = block;
      return 'url' in source ? [] : [{ inlineData: { mimeType: source.mediaType, data: source.base64 } }];
    }
    case 'tool_result':
      return [{ functionResponse: { name: block.name, response: { output: block.text } } }];
    default:
      return block satisfies never;
  }
}

/** Google's placeholder for a call without a signature: it came from elsewhere, or the client did not keep it. */
const noSignature = 'skip_thought_signature_validator';

/**
 * The parts of the model's turn, each with the signature that came with it. A turn's first call must have one.
 * @see https://ai.google.dev/gemini-api/docs/thought-signatures
 */
function modelParts(blocks: readonly AssistantBlock[], asksSignatures: boolean): object[] {
  const signatures = new Map<string, string>();
  for (const block of blocks) {
    if (block.kind === 'reasoning' && block.detail.type === 'reasoning.encrypted') {
      signatures.set(block.detail.id ?? '', block.detail.data);
    }
  }
  const texts = blocks.filter((block) => block.kind === 'text');
  const calls = blocks.filter((block) => block.kind === 'tool_call');
  const textSignature = signatures.get('');
  const lastText = texts.at(-1);
  return [
    ...texts.map((block) => ({
      text: block.text,
      thoughtSignature: block === lastText ? textSignature : undefined,
    })),
    ...calls.map(({ id, name, input }, index) => ({
      functionCall: { name, args: input },
      thoughtSignature: signatures.get(id) ?? (asksSignatures && index === 0 ? noSignature : undefined),
    })),
  ];
}

type Tool = NonNullable<ChatRequest['tools']>[number];

const declaration = ({ function: { name, description, parameters } }: Tool): object => ({
  name,
  description: description ?? '',
  parametersJsonSchema: parameters,
});

function toolConfig({ tools, tool_choice: choice }: ChatRequest): object | undefined {
  const isStrict = tools?.some(({ function: { strict } }) => strict === true) === true;
  const free = isStrict ? 'VALIDATED' : 'AUTO';
  const config = (mode: string, more: object = {}): object => ({ functionCallingConfig: { mode, ...more } });
  if (choice == null) return isStrict ? config(free) : undefined;
  if (choice === 'auto') return config(free);
  if (choice === 'none') return config('NONE');
  return choice === 'required' ? config('ANY') : config('ANY', { allowedFunctionNames: [choice.function.name] });
}

function generationConfig(request: ChatRequest, target: ChatTarget): object {
  const format = request.response_format ?? { type: 'text' };
  return {
    maxOutputTokens: target.maxOutputTokens,
    candidateCount: undefined,
    temperature: request.temperature ?? undefined,
    topP: request.top_p ?? undefined,
    seed: request.seed ?? undefined,
    presencePenalty: request.presence_penalty ?? undefined,
    frequencyPenalty: request.frequency_penalty ?? undefined,
    stopSequences: request.stop == null ? undefined : [request.stop].flat(),
    responseMimeType: format.type === 'text' ? undefined : 'application/json',
    responseJsonSchema: format.type === 'json_schema' ? format.json_schema.schema : undefined,
    thinkingConfig: geminiThinking(target),
  };
}

/** Thinking budgets in tokens, as Google maps the efforts of OpenAI's shape for models with a budget. */
const budgets: Readonly<Record<string, number>> = { minimal: 1024, low: 1024, medium: 8192, high: 24_576 };
/** The share of the output limit that thinking may use, so that tokens remain for the answer. */
const mostOfCeiling = 0.8;
/** Some models refuse a smaller budget. Below it, the model decides. */
const leastBudget = 512;
const levels = new Set(['minimal', 'low', 'medium', 'high']);

/** Gemini up to 2.5: it takes a budget instead of a level and does not require signatures. Unknown ids count as newer. */
const isOlderGemini = (model: string): boolean => /gemini-(?:1|2)(?:[.-]|$)/.test(model);

/**
 * Returns `thinkingConfig` for a reasoning selection. Thinking counts towards the output limit, as at other providers.
 * @see https://ai.google.dev/gemini-api/docs/thinking and https://ai.google.dev/gemini-api/docs/openai#thinking
 */
export function geminiThinking({ reasoning, upstreamModel, maxOutputTokens }: ChatTarget): object | undefined {
  if (reasoning === undefined) return undefined;
  const isOlder = isOlderGemini(upstreamModel);
  if (reasoning === 'off') return isOlder ? { thinkingBudget: 0 } : { thinkingLevel: 'minimal' };
  const { effort } = reasoning;
  if (effort === undefined) return { includeThoughts: true };
  if (isOlder) {
    const thinkingBudget = Math.min(budgets[effort] ?? 24_576, Math.floor(maxOutputTokens * mostOfCeiling));
    return thinkingBudget < leastBudget ? { includeThoughts: true } : { includeThoughts: true, thinkingBudget };
  }
  return { includeThoughts: true, thinkingLevel: levels.has(effort) ? effort : 'high' };
}
