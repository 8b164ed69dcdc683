import { createHash } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';

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

/** An answer of the demo provider: text in pieces, or one tool call. */
export interface DemoAnswer {
  readonly reasoning: readonly string[];
  readonly pieces: readonly string[];
  readonly toolCall: { readonly name: string; readonly arguments: string } | undefined;
  readonly finishReason: 'stop' | 'length' | 'tool_calls';
  readonly promptTokens: number;
}

/** Answers a chat request by rule: introduces itself, repeats the message, and calls a tool if the request has one. */
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
        : 'Hello from the demo provider. It runs on this machine and is not a language model: it only repeats what it is told, ' +
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

/** Returns a meaningless vector of length 1, always the same for the same text. */
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

// Avoids a retry at each space of a run, because a request may consist of spaces.
const words = (text: string): string[] => text.match(/(?<!\s)\s*\S+/g) ?? [];

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: unknown }) => (typeof part?.text === 'string' ? part.text : '[image]')).join(' ');
}

/** Returns a value that fits a simple JSON schema. */
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

/** Returns a PNG in one colour, which depends on the prompt. */
export function demoImage(prompt: string, width: number, height: number): Buffer {
  const colour = createHash('sha256').update(prompt).digest().subarray(0, 3);
  // Each row begins with the number of its filter: 0, for none.
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width * 3, colour)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits per channel: red, green and blue.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const chunk = Buffer.alloc(named.length + 8);
  chunk.writeUInt32BE(content.length, 0);
  chunk.set(named, 4);
  chunk.writeUInt32BE(crc32(named), named.length + 4);
  return chunk;
}

/** A frame of MPEG-1 layer III, 32 kbit/s, 44.1 kHz, mono: 26 ms of silence. */
const silentFrame = Buffer.concat([Buffer.from('fffb10c0', 'hex'), Buffer.alloc(100)]);
const framesPerCharacter = 3;

/** Returns an MP3 of silence, about as long as the spoken text. */
export const demoSpeech = (text: string): Buffer =>
  Buffer.concat(Array.from({ length: Math.max(text.length, 1) * framesPerCharacter }, () => silentFrame));
