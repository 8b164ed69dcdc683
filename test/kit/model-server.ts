import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answers } from '@sotto/discovery/testing';

/** A stand-in for a model server such as Ollama: its own API, and chat completions that repeat the last message. */
export interface ModelServerStandIn {
  readonly origin: string;
  /** The bodies of the chat requests, in order. */
  readonly asked: readonly Record<string, unknown>[];
  /** Every request so far, with its headers. */
  readonly heard: readonly string[];
  /** Replaces what its own API answers from now on. */
  answer(answers: Answers): void;
  stop(): Promise<void>;
}

/** Starts a stand-in on loopback. `port` 0 is any free one. */
export async function startModelServer(answers: Answers, port = 0): Promise<ModelServerStandIn> {
  let current = answers;
  const asked: Record<string, unknown>[] = [];
  const heard: string[] = [];
  const server = createServer(async (request, response) => {
    const path = `${request.method} ${request.url}`;
    const text = await textOf(request);
    heard.push(`${path}\n${JSON.stringify(request.headers)}\n${text}`);
    const body: Record<string, unknown> = text === '' ? {} : JSON.parse(text);
    const known = current[path];
    const answer = typeof known === 'function' ? (known as (body: object) => unknown)(body) : known;
    const json = { 'content-type': 'application/json' };
    if (answer !== undefined) return void response.writeHead(200, json).end(JSON.stringify(answer));
    if (path !== 'POST /v1/chat/completions') return void response.writeHead(404).end();
    asked.push(body);
    const said = `Locally: ${lastMessage(body)}`;
    const id = { id: 'chatcmpl-1', created: 1, model: body.model };
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 };
    if (body.stream !== true) {
      const choice = { index: 0, message: { role: 'assistant', content: said }, finish_reason: 'stop' };
      return void response
        .writeHead(200, json)
        .end(JSON.stringify({ ...id, object: 'chat.completion', choices: [choice], usage }));
    }
    const chunk = (delta: object, finish_reason: string | null): string =>
      `data: ${JSON.stringify({ ...id, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ role: 'assistant', content: said }, null));
    response.write(chunk({}, 'stop'));
    response.end(
      `data: ${JSON.stringify({ ...id, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`,
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    heard,
    answer(next) {
      current = next;
    },
    async stop() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces).toString('utf8');
}

function lastMessage(body: Record<string, unknown>): string {
  const messages = body.messages as readonly { readonly content: string }[];
  return messages.at(-1)?.content ?? '';
}
