import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import {
  countWords,
  type DemoAnswer,
  type DemoRequest,
  demoAnswer,
  demoImage,
  demoSpeech,
  demoVector,
} from './demo-answer.ts';

export interface DemoProvider {
  /** Its OpenAI-compatible API, on loopback. */
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** Delay between pieces of a stream: short, but visible. */
const pieceMs = 12;
const dimensions = 256;

/** Starts the demo provider: an OpenAI-compatible API on loopback. It is not a language model, and its answers say so. */
export async function startDemoProvider(): Promise<DemoProvider> {
  const app = Fastify({ logger: false, bodyLimit: 64 * 1024 * 1024 });

  app.post<{ Body: DemoRequest & { stream?: boolean; model?: string } }>(
    '/v1/chat/completions',
    async (request, reply) => {
      const answer = demoAnswer(request.body);
      const identity = {
        id: `demo-${randomBytes(8).toString('hex')}`,
        created: Math.floor(Date.now() / 1000),
        model: request.body.model,
      };
      if (request.body.stream !== true) return wholeAnswer(answer, identity);
      reply.hijack();
      await streamAnswer(answer, identity, reply.raw);
      return reply;
    },
  );

  app.post<{ Body: { input: string | string[]; model?: string; dimensions?: number; encoding_format?: string } }>(
    '/v1/embeddings',
    async ({ body }) => {
      const inputs = Array.isArray(body.input) && typeof body.input[0] !== 'number' ? body.input : [String(body.input)];
      const data = inputs.map((input, index) => ({
        object: 'embedding',
        index,
        embedding: encode(demoVector(String(input), body.dimensions ?? dimensions), body.encoding_format),
      }));
      const tokens = inputs.reduce((sum, input) => sum + countWords(String(input)), 0);
      return { object: 'list', data, model: body.model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
    },
  );

  app.post<{ Body: { prompt: string; size: string } }>('/v1/images/generations', async ({ body }) => {
    const [width = 0, height = 0] = body.size.split('x').map(Number);
    const image = demoImage(body.prompt, width, height).toString('base64');
    return { created: Math.floor(Date.now() / 1000), data: [{ b64_json: image }] };
  });

  app.post<{ Body: { input: string } }>('/v1/audio/speech', async ({ body }, reply) =>
    reply.type('audio/mpeg').send(demoSpeech(body.input)),
  );

  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      app.server.closeAllConnections();
      await app.close();
    },
  };
}

type Identity = { readonly id: string; readonly created: number; readonly model: string | undefined };

function usageOf({ promptTokens, pieces, reasoning, toolCall }: DemoAnswer) {
  const completion =
    pieces.length + reasoning.length + (toolCall === undefined ? 0 : countWords(toolCall.arguments) + 1);
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completion,
    total_tokens: promptTokens + completion,
    completion_tokens_details: { reasoning_tokens: reasoning.length },
  };
}

function wholeAnswer(answer: DemoAnswer, identity: Identity) {
  const { toolCall, reasoning, pieces, finishReason } = answer;
  const toolCalls = toolCall && [{ id: `call_${identity.id}`, type: 'function', function: toolCall }];
  return {
    ...identity,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: toolCall === undefined ? pieces.join('') : null,
          ...(reasoning.length > 0 ? { reasoning_content: reasoning.join('') } : {}),
          ...(toolCalls === undefined ? {} : { tool_calls: toolCalls }),
        },
        finish_reason: finishReason,
      },
    ],
    usage: usageOf(answer),
  };
}

async function streamAnswer(answer: DemoAnswer, identity: Identity, response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const send = (delta: object, finishReason: string | null = null): void => {
    const chunk = {
      ...identity,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finishReason }],
    };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
  };
  const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, pieceMs));
  send({ role: 'assistant', content: '' });
  for (const piece of answer.reasoning) {
    if (response.destroyed) return;
    send({ reasoning_content: piece });
    await pause();
  }
  if (answer.toolCall !== undefined) {
    const { name, arguments: args } = answer.toolCall;
    send({
      tool_calls: [{ index: 0, id: `call_${identity.id}`, type: 'function', function: { name, arguments: '' } }],
    });
    for (const part of args.match(/.{1,12}/gs) ?? []) {
      send({ tool_calls: [{ index: 0, function: { arguments: part } }] });
      await pause();
    }
  }
  for (const piece of answer.pieces) {
    if (response.destroyed) return;
    send({ content: piece });
    await pause();
  }
  send({}, answer.finishReason);
  const usage = { ...identity, object: 'chat.completion.chunk', choices: [], usage: usageOf(answer) };
  response.end(`data: ${JSON.stringify(usage)}\n\ndata: [DONE]\n\n`);
}

function encode(vector: readonly number[], format: string | undefined): readonly number[] | string {
  if (format !== 'base64') return vector;
  return Buffer.from(Float32Array.from(vector).buffer).toString('base64');
}
