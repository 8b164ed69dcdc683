import { type ChatChunk, chatChunkSchema, errorAnswerSchema } from '@sotto/wire';
import { expect } from 'vitest';
import type { Service } from './service.ts';

export type Flow = 'compatibility' | 'ticket';
export const flows: readonly Flow[] = ['compatibility', 'ticket'];

export type HeaderMap = Readonly<Record<string, string>>;

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: unknown;
}

export const hello = [{ role: 'user', content: 'Say hello.' }];

export const bearer = (key: string): HeaderMap => ({ authorization: `Bearer ${key}` });
export const ticketHeader = (ticket: string): HeaderMap => ({ 'x-router-ticket': ticket });

/**
 * Sends a request. An object as body becomes JSON, a string stays unchanged. A minute without an answer counts as a
 * hang.
 */
export async function send(
  method: string,
  url: string,
  { headers = {}, body }: { readonly headers?: HeaderMap; readonly body?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(60_000),
    redirect: 'manual',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return readAnswer(response);
}

export const get = (url: string, headers: HeaderMap = {}): Promise<Answer> => send('GET', url, { headers });
export const post = (url: string, body: unknown, headers: HeaderMap = {}): Promise<Answer> =>
  send('POST', url, { headers, body });

export async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const boundByTicket = ['model', 'models', 'provider', 'reasoning', 'reasoning_effort'];

/** Returns the body of the ticket request for a chat or embeddings body. */
export function ticketRequestOf(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => boundByTicket.includes(name)));
}

export interface Asked {
  readonly flow?: Flow;
  readonly path?: string;
  readonly headers?: HeaderMap;
}

/**
 * Requests a chat completion in either flow: with the key, or with a ticket bought for this body. If the ticket request
 * is rejected, that is the answer.
 */
export async function ask(
  service: Service,
  key: string,
  body: object,
  { flow = 'compatibility', path = '/chat/completions', headers = {} }: Asked = {},
): Promise<Answer> {
  const whole = path === '/chat/completions' ? { messages: hello, ...body } : body;
  const url = `${service.baseUrl}${path}`;
  if (flow === 'compatibility') return post(url, whole, { ...bearer(key), ...headers });
  const minted = await post(`${service.controlUrl}/inference/tickets`, ticketRequestOf(whole), bearer(key));
  if (minted.status !== 200) return minted;
  const { ticket } = minted.json as { ticket: string };
  return post(url, whole, { ...ticketHeader(ticket), ...headers });
}

/** Requests a chat completion with a ticket. */
export const redeem = (service: Service, ticket: string, body: object): Promise<Answer> =>
  post(`${service.baseUrl}/chat/completions`, { messages: hello, ...body }, ticketHeader(ticket));

/**
 * Asserts that an answer is this error, in an error envelope with exactly its documented fields
 * (docs/reference/errors.md).
 */
export function expectError(answer: Answer, status: number, type: string, param?: string): void {
  expect({ status: answer.status, error: answer.json }).toMatchObject({
    status,
    error: { error: { type, ...(param === undefined ? {} : { param }) } },
  });
  expectEnvelope(answer);
}

/** Asserts that an answer is a 4xx in the error envelope. */
export function expectCallersFault(answer: Answer): void {
  expect(answer.status, answer.text.slice(0, 500)).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(500);
  expectEnvelope(answer);
}

function expectEnvelope({ headers, json }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  errorAnswerSchema.parse(json);
}

/** A stream after its end, as a client sees it. */
export interface Streamed {
  /** The events without the terminator. */
  readonly chunks: readonly ChatChunk[];
  readonly done: boolean;
  /** The concatenated text of all deltas. */
  readonly content: string;
}

/** Reads a stream strictly: see `payloadsOf`. Every payload is a chunk. */
export function readStream({ status, headers, text }: Answer): Streamed {
  expect(status, text.slice(0, 500)).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(text).not.toBe('');
  const { payloads, done } = payloadsOf(text);
  const chunks = payloads.map((payload) => chatChunkSchema.parse(JSON.parse(payload)));
  const content = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  return { chunks, done, content };
}

/**
 * Splits a stream as strictly as a simple client: it ends with a whole frame, and every frame is one `data: ` line or a
 * comment. The terminator is not among the payloads.
 */
export function payloadsOf(text: string): { readonly payloads: readonly string[]; readonly done: boolean } {
  expect(text === '' || text.endsWith('\n\n'), `the stream ends within a frame: ${text.slice(-200)}`).toBe(true);
  const payloads = text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      expect(frame).toMatch(/^data: [^\n]*$/);
      return frame.slice('data: '.length);
    });
  const done = payloads.at(-1) === '[DONE]';
  return { payloads: done ? payloads.slice(0, -1) : payloads, done };
}

/** Returns everything that a client sees of an answer: status, headers and body. */
export const allOf = ({ status, headers, text }: Answer): string =>
  `${status}\n${[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${text}`;
