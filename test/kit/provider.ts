import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listenOnLoopback } from '@sotto/test-servers';

/** A request as it reached a provider, with the body as bytes. */
export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Resolves when the client closes the request's connection, or when the answer was sent. */
  readonly closed: Promise<void>;
}

/** A request as a provider with OpenAI's API received it. */
export interface SeenRequest extends ReceivedRequest {
  /** The parsed body. */
  readonly body: Record<string, unknown>;
  readonly text: string;
}

export type ProviderHandler = (request: SeenRequest, response: ServerResponse) => void | Promise<void>;

/** A provider with OpenAI's API; a test decides every answer. */
export interface FakeProvider {
  /** The `base_url` for a registry. */
  readonly baseUrl: string;
  /** All requests, in order. */
  readonly seen: SeenRequest[];
  /** The number of open sockets. */
  readonly openSockets: number;
  /** Replaces the answers from now on. */
  answer(handler: ProviderHandler): void;
  stop(): Promise<void>;
}

/** Starts a provider on loopback. It answers `answerChat()` until a test replaces that. */
export async function startProvider(handler: ProviderHandler = answerChat()): Promise<FakeProvider> {
  let current = handler;
  const seen: SeenRequest[] = [];
  const server = await startProviderServer((request, response) => {
    const text = request.bytes.toString('utf8');
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
    const recorded: SeenRequest = { ...request, body, text };
    seen.push(recorded);
    void current(recorded, response);
  });
  return Object.assign(server, {
    seen,
    answer(next: ProviderHandler) {
      current = next;
    },
  });
}

/** Starts an HTTP server on loopback that reads each POST in full. A GET gets 404: no evidence, no receipts. */
export async function startProviderServer(
  handle: (request: ReceivedRequest, response: ServerResponse) => void,
): Promise<Pick<FakeProvider, 'baseUrl' | 'openSockets' | 'stop'>> {
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(404).end();
      return;
    }
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const closed = new Promise<void>((resolve) => response.once('close', () => resolve()));
      handle({ path: request.url ?? '', headers: request.headers, bytes: Buffer.concat(pieces), closed }, response);
    });
    request.on('error', () => {});
    response.on('error', () => {});
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const port = await listenOnLoopback(server);
  return {
    baseUrl: `http://127.0.0.1:${port}/v1`,
    get openSockets() {
      return sockets.size;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export interface ChatAnswerOptions {
  readonly content?: string;
  readonly promptTokens?: number;
  readonly completionTokens?: number;
  /** Pieces of a stream. Default: the words of the content. */
  readonly pieces?: readonly string[];
  /** The pause between pieces. */
  readonly pieceMs?: number;
}

/** Answers chat requests, whole or streamed, and embeddings with one vector per input. */
export function answerChat(options: ChatAnswerOptions = {}): ProviderHandler {
  const { content = 'Hello there, this is a provider.', promptTokens = 10, completionTokens = 20 } = options;
  const usage = {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: 0 },
  };
  return async (request, response) => {
    if (request.path.endsWith('/embeddings')) return answerEmbeddings(request, response);
    const identity = {
      id: 'provider-own-id',
      created: 1_700_000_000,
      model: String(request.body.model),
      system_fingerprint: 'fp_secret',
    };
    if (request.body.stream !== true) {
      return sendJson(response, 200, {
        ...identity,
        object: 'chat.completion',
        choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop', logprobs: null }],
        usage,
      });
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const chunk = (choice: object | undefined, more: object = {}): string =>
      `data: ${JSON.stringify({ ...identity, object: 'chat.completion.chunk', choices: choice === undefined ? [] : [{ index: 0, ...choice }], ...more })}\n\n`;
    response.write(chunk({ delta: { role: 'assistant', content: '' }, finish_reason: null }));
    for (const piece of options.pieces ?? content.match(/\s*\S+/g) ?? []) {
      if (response.destroyed) return;
      response.write(chunk({ delta: { content: piece }, finish_reason: null }));
      if (options.pieceMs) await new Promise((resolve) => setTimeout(resolve, options.pieceMs));
    }
    response.write(chunk({ delta: {}, finish_reason: 'stop' }));
    response.write(chunk(undefined, { usage }));
    response.end('data: [DONE]\n\n');
  };
}

function answerEmbeddings(request: SeenRequest, response: ServerResponse): void {
  const { input } = request.body;
  const inputs = Array.isArray(input) && typeof input[0] !== 'number' ? input : [input];
  sendJson(response, 200, {
    object: 'list',
    model: request.body.model,
    data: inputs.map((_, index) => ({ object: 'embedding', index, embedding: [0.1, -0.25, index] })),
    usage: { prompt_tokens: inputs.length * 4, total_tokens: inputs.length * 4 },
  });
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

/** Fails every request with a status and a body that must never reach a client. */
export const answerError =
  (
    status: number,
    error: object = { message: 'RAW-PROVIDER-ERROR', code: 'raw' },
    headers: Record<string, string> = {},
  ): ProviderHandler =>
  (_request, response) =>
    sendJson(response, status, { error }, headers);

/** Accepts the request and never answers. */
export const answerNothing: ProviderHandler = () => {};
