import { type ChatChunk, chatChunkSchema, errorAnswerSchema } from '@sotto/wire';
import { expect } from 'vitest';
import type { Service } from '../../kit/service.ts';

export type Flow = 'compatibility' | 'ticket';
export const flows: readonly Flow[] = ['compatibility', 'ticket'];

export type HeaderMap = Readonly<Record<string, string>>;

/** An answer, read to its end. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined where it is no JSON. */
  readonly json: unknown;
}

export const hello = [{ role: 'user', content: 'Say hello.' }];

export const bearer = (key: string): HeaderMap => ({ authorization: `Bearer ${key}` });
export const ticketHeader = (ticket: string): HeaderMap => ({ 'x-router-ticket': ticket });

/** Sends a request; an object as body goes as JSON, a string as it is. Ten seconds without an answer is a hang. */
export async function send(
  method: string,
  url: string,
  { headers = {}, body }: { readonly headers?: HeaderMap; readonly body?: unknown } = {},
): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: AbortSignal.timeout(10_000),
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

/** The request for the ticket that a body needs. */
export function ticketRequestOf(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => boundByTicket.includes(name)));
}

export interface Asked {
  readonly flow?: Flow;
  readonly path?: string;
  readonly headers?: HeaderMap;
}

/**
 * Asks for a chat completion, in either flow: with the key, or with a ticket bought for this body.
 * Where the ticket is refused, that is the answer.
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

/** Fails unless an answer is this error in the envelope of interface 2.7, whole and nothing more. */
export function expectError(answer: Answer, status: number, type: string, param?: string): void {
  expect({ status: answer.status, error: answer.json }).toMatchObject({
    status,
    error: { error: { type, ...(param === undefined ? {} : { param }) } },
  });
  expectEnvelope(answer);
}

/** Fails unless an answer is the caller's own fault, said in the envelope. */
export function expectCallersFault(answer: Answer): void {
  expect(answer.status, answer.text.slice(0, 500)).toBeGreaterThanOrEqual(400);
  expect(answer.status, answer.text.slice(0, 500)).toBeLessThan(500);
  expectEnvelope(answer);
}

function expectEnvelope({ headers, json }: Answer): void {
  expect(headers.get('content-type')).toMatch(/^application\/json/);
  errorAnswerSchema.parse(json);
}

/** A stream as a client has it in the end. */
export interface Streamed {
  /** The events but for the terminator. */
  readonly chunks: readonly ChatChunk[];
  readonly done: boolean;
  /** The text of all deltas together. */
  readonly content: string;
}

/** Reads a stream strictly: every frame is one `data: ` line and, but for the terminator, a chunk. */
export function readStream({ status, headers, text }: Answer): Streamed {
  expect(status, text.slice(0, 500)).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
  expect(text.endsWith('\n\n'), 'the stream ends with a whole frame').toBe(true);
  const payloads = text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => {
      expect(frame).toMatch(/^data: [^\n]*$/);
      return frame.slice('data: '.length);
    });
  const done = payloads.at(-1) === '[DONE]';
  const chunks = (done ? payloads.slice(0, -1) : payloads).map((payload) => chatChunkSchema.parse(JSON.parse(payload)));
  const content = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('');
  return { chunks, done, content };
}

/** Everything a client sees of an answer: status, headers and body. */
export const allOf = ({ status, headers, text }: Answer): string =>
  `${status}\n${[...headers].map(([name, value]) => `${name}: ${value}`).join('\n')}\n\n${text}`;
