import { createHash } from 'node:crypto';

interface DemoMessage {
  readonly role?: string;
  readonly content?: unknown;
}

/** The part of a chat request that the demo provider understands. */
export interface DemoRequest {
  readonly messages?: readonly DemoMessage[];
  readonly tools?: readonly { readonly function?: { readonly name?: string; readonly parameters?: unknown } }[];
  readonly tool_choice?: unknown;
  readonly response_format?: { readonly type?: string };
  readonly reasoning_effort?: string;
  readonly max_tokens?: number;
}

/** What the demo provider answers: text in pieces, or one tool call. */
export interface DemoAnswer {
  readonly reasoning: readonly string[];
  readonly pieces: readonly string[];
  readonly toolCall: { readonly name: string; readonly arguments: string } | undefined;
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly promptTokens: number;
}

/** Answers a chat request by rule: it says what it is, repeats what it was told, and calls a tool when it is given one. */
export function demoAnswer(request: DemoRequest): DemoAnswer {
  const messages = request.messages ?? [];
  const last = messages.at(-1);
  const promptTokens = messages.reduce((sum, message) => sum + words(textOf(message.content)).length + 3, 0);
  const reasoning = request.reasoning_effort ? words('I have no mind to make up, so this is quick. ') : [];
  const tool = request.tools?.[0]?.function;
  if (tool?.name && last?.role === 'user' && request.tool_choice !== 'none') {
    const toolCall = { name: tool.name, arguments: JSON.stringify(exampleOf(tool.parameters, 0) ?? {}) };
    return { reasoning, pieces: [], toolCall, finishReason: 'tool_calls', promptTokens };
  }
  const said = textOf(last?.content);
  const whole =
    request.response_format?.type === 'json_object' || request.response_format?.type === 'json_schema'
      ? JSON.stringify({ demo: true, you_said: said })
      : last?.role === 'tool'
        ? `The tool answered: ${said}`
        : 'Hello from the demo provider. It runs on this machine and is no language model: it only repeats what it is told, ' +
          `so that you can try Sotto without a key of a real provider. You said: ${said}`;
  const pieces = words(whole);
  const limit = request.max_tokens ?? Number.POSITIVE_INFINITY;
  return {
    reasoning,
    pieces: pieces.slice(0, limit),
    toolCall: undefined,
    finishReason: pieces.length > limit ? 'length' : 'stop',
    promptTokens,
  };
}

/** A vector of a text: the same for the same text, of length 1, and of no meaning. */
export function demoVector(text: string, dimensions: number): number[] {
  const raw: number[] = [];
  for (let block = 0; raw.length < dimensions; block += 1) {
    for (const byte of createHash('sha256').update(`${block}:${text}`).digest()) raw.push(byte / 127.5 - 1);
  }
  const vector = raw.slice(0, dimensions);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

export const countWords = (text: string): number => words(text).length;

// Not tried again at each of a run of spaces: a request may be long, and nothing else.
const words = (text: string): string[] => text.match(/(?<!\s)\s*\S+/g) ?? [];

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '[image]')).join(' ');
}

/** A value that fits a JSON schema, as far as a demo must. */
function exampleOf(schema: unknown, depth: number): unknown {
  if (typeof schema !== 'object' || schema === null || depth > 5) return undefined;
  const { type, properties, items, enum: choices } = schema as Record<string, unknown>;
  if (Array.isArray(choices)) return choices[0];
  switch (type) {
    case 'object':
      return Object.fromEntries(
        Object.entries(typeof properties === 'object' && properties !== null ? properties : {}).map(([name, inner]) => [
          name,
          exampleOf(inner, depth + 1) ?? null,
        ]),
      );
    case 'array':
      return [exampleOf(items, depth + 1) ?? 'example'];
    case 'number':
    case 'integer':
      return 1;
    case 'boolean':
      return true;
    default:
      return 'example';
  }
}
