/** Real clients need more than a catalog: a provider that plays a conversation, our own client as a `fetch`, and the local proxy. */

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createPrivateFetch, type PrivateFetch } from '@sotto/client';
import {
  makePrivateClient,
  nodePlatform,
  type PrivateClient,
  type ProxyOptions,
  programsWith,
  proxyHandler,
} from '@sotto/client/testing';
import { listenOnLoopback } from '@sotto/test-servers';
import OpenAI from 'openai';
import { afterAll, beforeAll } from 'vitest';
import type { Prices } from '../../kit/catalog.ts';
import { type FakeProvider, type ProviderHandler, type SeenRequest, sendJson } from '../../kit/provider.ts';
import type { Service } from '../../kit/service.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';

export const chatModel = 'acme/small';
export const embeddingModel = 'acme/embed';
export const imageModel = 'acme/paint';
export const voiceModel = 'acme/voice';

/** The image that every image request returns, and the audio of a text. */
export const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(5000, 7)]);
export const spoken = (text: string): Buffer =>
  Buffer.concat([Buffer.from('fffb10c0', 'hex'), Buffer.from(text.repeat(200))]);

/** The schema of the one tool that the tests offer. */
export const weatherSchema = {
  type: 'object' as const,
  properties: { city: { type: 'string' as const } },
  required: ['city'],
  additionalProperties: false,
};

export const weather = {
  name: 'weather',
  description: 'Tells the weather of a city',
  parameters: weatherSchema,
};

/** The tool as the `openai` SDK runs it. `asked` collects the cities of its calls. */
export const runnableWeather = (asked: string[] = []) => ({
  type: 'function' as const,
  function: {
    ...weather,
    parse: (text: string) => JSON.parse(text) as { city: string },
    function: ({ city }: { city: string }): string => {
      asked.push(city);
      return `sun in ${city}`;
    },
  },
});

/** The environment of a client's suite. */
export interface ClientWorld {
  readonly service: Service;
  readonly provider: FakeProvider;
  readonly inferenceKey: string;
  readonly managementKey: string;
}

/** Two cities cause two calls at once. The first has characters that JSON must escape twice. */
export const cities = ['Århus "havn"', 'Graz'];
export const usage = {
  prompt_tokens: 12,
  completion_tokens: 34,
  total_tokens: 46,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 5 },
};
/** The price in USD of one answer with that usage. */
export const answerCost = ((12 - 4) * 0.5 + 4 * 0.05 + 34 * 1.5) / 1e6;
const thoughts = ['Let me', ' think', ' – "hm".'];

/** The provider's answer to the results of a tool that found this weather in each city. */
export const toolsSaid = (sky: string): string =>
  `The tools said: ${cities.map((city) => `${sky} in ${city}`).join(' / ')}`;

/** The tokens that the chat model holds. */
const contextLength = 8000;

/** The text to which the provider begins a stream that it never ends. */
export const breakOff = 'break off';
/** The text to which the provider always shows its reasoning. */
const thinkAloud = 'think aloud';

const identity = { id: 'provider-own-id', created: 1_700_000_000, model: 'small-v1', system_fingerprint: 'fp_secret' };

/**
 * Answers by the content of the request. `fail 503` fails with that status, and a text longer than the context with 400. `forever`
 * streams without end, and `break off` begins a stream, or nothing, and closes the connection. A request with tools gets tool calls,
 * and their results are repeated. A JSON schema gets JSON. Other text is repeated; `think aloud` gets reasoning, too.
 */
export const answer: ProviderHandler = async (request, response) => {
  if (request.path.endsWith('/embeddings')) return sendJson(response, 200, embeddings(request));
  if (request.path.endsWith('/images/generations')) {
    return sendJson(response, 200, { created: 1, data: [{ b64_json: picture.toString('base64') }] });
  }
  if (request.path.endsWith('/audio/speech')) return speak(request, response);
  const said = lastSaid(request);
  const [, status] = /^fail (\d+)/.exec(said) ?? [];
  if (status !== undefined) {
    const retryAfter: Record<string, string> = status === '429' ? { 'retry-after': '1' } : {};
    return sendJson(response, Number(status), { error: { message: 'RAW-PROVIDER-ERROR' } }, retryAfter);
  }
  if (said.length > 4 * contextLength) {
    const message = `This model's maximum context length is ${contextLength} tokens.`;
    return sendJson(response, 400, {
      error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' },
    });
  }
  const { calls, content, reasoning } = reply(request, said);
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  if (request.body.stream !== true) {
    if (said === breakOff) return void response.destroy();
    const message = {
      role: 'assistant',
      content: calls.length > 0 ? null : content,
      ...(reasoning.length > 0 ? { reasoning_content: reasoning.join('') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    const choices = [{ index: 0, message, finish_reason }];
    return sendJson(response, 200, { ...identity, object: 'chat.completion', choices, usage });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const send = (delta: object, finish: string | null = null): boolean =>
    response.write(
      `data: ${JSON.stringify({ ...identity, choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  send({ role: 'assistant', content: '' });
  if (said === breakOff) {
    send({ content: 'You said: ' });
    // A comment, when everything before it has left.
    await new Promise((resolve) => response.write(':\n\n', resolve));
    response.destroy();
    return;
  }
  if (said === 'forever') {
    const left = new AbortController();
    response.once('close', () => left.abort());
    while (!response.destroyed) {
      if (!send({ content: 'on and ' })) await once(response, 'drain', left).catch(() => {});
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return;
  }
  for (const thought of reasoning) send({ reasoning_content: thought });
  for (const [index, { function: called, ...call }] of calls.entries()) {
    send({ tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] });
    for (const piece of called.arguments.match(/.{1,7}/gsu) ?? []) {
      send({ tool_calls: [{ index, id: '', function: { arguments: piece } }] });
    }
  }
  if (calls.length === 0) for (const piece of content.match(/\s*\S+/g) ?? []) send({ content: piece });
  send({}, finish_reason);
  response.end(`data: ${JSON.stringify({ ...identity, choices: [], usage })}\n\ndata: [DONE]\n\n`);
};

const route = (upstream: string, pricing: Prices) => ({ acme: { upstream, pricing } });

/** A provider that answers by the content of a request, with a model of each kind. */
export const sdkSpec: StageSpec = {
  providers: { acme: { name: 'Acme', answers: answer } },
  models: {
    [chatModel]: {
      routes: {
        acme: {
          upstream: 'small-v1',
          pricing: { input: 0.5, output: 1.5, cached_input: 0.05 },
          capabilities: { tools: true, structured_output: true, reasoning: { efforts: ['low'], can_disable: true } },
        },
      },
    },
    [embeddingModel]: { type: 'embedding', context_length: 8000, routes: route('embed-1', { input: 0.02 }) },
    [imageModel]: { type: 'image', routes: route('paint-1', { image: 0.04 }) },
    [voiceModel]: { type: 'tts', routes: route('voice-1', { input_characters: 15 }) },
  },
  features: ['images', 'speech'],
};

/** Sends the text in pieces. `break off` makes it break off. */
async function speak({ body }: SeenRequest, response: Parameters<ProviderHandler>[1]): Promise<void> {
  const whole = spoken(String(body.input));
  response.writeHead(200, { 'content-type': 'audio/mpeg' });
  await new Promise((resolve) => response.write(whole.subarray(0, 1000), resolve));
  if (body.input === 'break off') response.destroy();
  else response.end(whole.subarray(1000));
}

interface Message {
  readonly role: string;
  readonly content?: unknown;
}

const messagesOf = ({ body }: SeenRequest): readonly Message[] => body.messages as readonly Message[];

const textOf = ({ content }: Message): string =>
  Array.isArray(content) ? content.map((part: { text: string }) => part.text).join('') : String(content);

function lastSaid(request: SeenRequest): string {
  const last = messagesOf(request).at(-1);
  return last === undefined ? '' : textOf(last);
}

function reply(request: SeenRequest, said: string) {
  const { tools, response_format, reasoning_effort } = request.body;
  const results = messagesOf(request).filter(({ role }) => role === 'tool');
  const isAsked = Array.isArray(tools) && tools.length > 0 && results.length === 0;
  return {
    calls: isAsked
      ? cities.map((city, i) => ({
          id: `call_${i}`,
          type: 'function',
          function: { name: weather.name, arguments: JSON.stringify({ city }) },
        }))
      : [],
    content:
      results.length > 0
        ? `The tools said: ${results.map(textOf).join(' / ')}`
        : response_format === undefined
          ? `You said: ${said}`
          : JSON.stringify({ city: 'Graz', degrees: 21 }),
    reasoning: reasoning_effort === undefined && said !== thinkAloud ? [] : thoughts,
  };
}

export const reasoningText = thoughts.join('');

/** Returns numbers even if base64 was requested, and in reverse order. Clients must cope with both. */
function embeddings({ body }: SeenRequest): object {
  const { input } = body;
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
  const data = inputs.map((_, index) => ({ object: 'embedding', index, embedding: vectorOf(index) })).reverse();
  return {
    object: 'list',
    data,
    model: 'embed-1',
    usage: { prompt_tokens: inputs.length * 4, total_tokens: inputs.length * 4 },
  };
}

/** Returns the vector of an input by its position; its numbers are exact as 32-bit floats. */
export const vectorOf = (index: number): number[] => [0.5, -0.25, index];

const made = new WeakMap<object, PrivateFetch>();

/**
 * Creates our own client as a `fetch` for the other libraries. It verifies the service's simulated evidence once, as
 * users do.
 */
export function privateFetchOf({ service, inferenceKey }: ClientWorld): PrivateFetch {
  const known = made.get(service);
  if (known !== undefined) return known;
  const { controlUrl: controlOrigin, baseUrl: baseOrigin } = service;
  const fetch = createPrivateFetch({ apiKey: inferenceKey, controlOrigin, baseOrigin, allowSimulated: true });
  made.set(service, fetch);
  return fetch;
}

/** Creates OpenAI's client in both flows, with further options of it. */
export const openAiClients = (world: ClientWorld) => {
  const shared = () => ({ baseURL: world.service.baseUrl, maxRetries: 0 });
  return {
    'compatibility mode': (more: object = {}) => new OpenAI({ ...shared(), apiKey: world.inferenceKey, ...more }),
    'the ticket flow': (more: object = {}) =>
      new OpenAI({ ...shared(), apiKey: 'never-sent', fetch: privateFetchOf(world), ...more }),
  };
};

/** Returns a function that counts the requests to the provider during a call. */
export const countAsked =
  (world: ClientWorld) =>
  async (act: () => Promise<unknown>): Promise<number> => {
    const { seen } = world.provider;
    const before = seen.length;
    await act();
    return seen.length - before;
  };

/** The server of `sotto proxy`, in the process of a suite. */
interface LocalProxy {
  /** Without a path. */
  readonly origin: string;
  /** The lines that the proxy logged. */
  readonly notes: readonly string[];
}

/** Serves the private flow to the clients of a suite, from its first test to its last. */
export function localProxy(world: ClientWorld, models: NonNullable<ProxyOptions['models']>): LocalProxy {
  const notes: string[] = [];
  let server: Server | undefined;
  let client: PrivateClient | undefined;
  let origin = '';
  beforeAll(async () => {
    const { controlUrl: controlOrigin, baseUrl: baseOrigin } = world.service;
    const options = { apiKey: world.inferenceKey, controlOrigin, baseOrigin, allowSimulated: true };
    client = makePrivateClient(nodePlatform({ selfSigned: false }), options);
    const { exchange } = client;
    const onNote = (text: string): void => void notes.push(text);
    server = createServer(
      proxyHandler({ exchange, requireCaller: programsWith(undefined), models, onNote, onUnexpected: onNote }),
    );
    origin = `http://127.0.0.1:${await listenOnLoopback(server)}`;
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    client?.session.close();
  });
  return {
    get origin() {
      return origin;
    },
    notes,
  };
}
