import { type Flow, hello, payloadsOf, ticketRequestOf } from '../client.ts';
import type { Service, TestAccount } from '../service.ts';

export { type Flow, flows } from '../client.ts';

/** A way to request a chat completion. */
export interface Way {
  readonly flow: Flow;
  readonly stream: boolean;
  readonly name: string;
}

const way = (flow: Flow, stream: boolean): Way => ({ flow, stream, name: `${flow}, ${stream ? 'streamed' : 'whole'}` });

export const everyWay: readonly Way[] = [
  way('compatibility', false),
  way('compatibility', true),
  way('ticket', false),
  way('ticket', true),
];
export const bothModes: readonly Way[] = [way('compatibility', false), way('compatibility', true)];

export interface PublicError {
  readonly message: string;
  readonly type: string;
  readonly request_id: string;
  readonly param?: string;
}

export interface ToolCall {
  readonly index?: number;
  readonly id?: string;
  readonly type?: string;
  readonly function: { readonly name?: string; readonly arguments?: string };
}

export interface Piece {
  readonly role?: string;
  readonly content?: string | null;
  readonly reasoning?: string;
  readonly refusal?: string;
  readonly tool_calls?: readonly ToolCall[];
}

export interface Body {
  readonly id?: string;
  readonly object?: string;
  readonly model?: string;
  readonly choices?: readonly {
    readonly index: number;
    readonly message?: Piece;
    readonly delta?: Piece;
    readonly finish_reason: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number; readonly cost: number };
  readonly error?: PublicError;
}

/** A complete answer, in the same form for both modes. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The JSON body, or the last event of a stream. */
  readonly body: Body;
  /** The events of a stream, without the terminator. */
  readonly chunks: readonly Body[];
  /** Whether a stream ended with `[DONE]`. */
  readonly done: boolean;
  /** The text of the whole answer, or of all deltas together. */
  readonly content: string;
  readonly error: PublicError | undefined;
}

export interface Asked {
  readonly flow?: Flow;
  readonly signal?: AbortSignal;
}

/**
 * Requests a chat completion and reads the whole answer. In the ticket flow, a rejected ticket request is the answer.
 */
export async function ask(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  body: object,
  { flow = 'compatibility', signal }: Asked = {},
): Promise<Answer> {
  const asked: Record<string, unknown> = { messages: hello, ...body };
  const credential = await credentialFor(service, account, asked, flow);
  if (credential instanceof Response) return readAnswer(credential);
  return readAnswer(
    await fetch(`${service.baseUrl}/chat/completions`, {
      method: 'POST',
      headers: { ...credential, 'content-type': 'application/json' },
      body: JSON.stringify(asked),
      ...(signal === undefined ? {} : { signal }),
    }),
  );
}

/** Returns the header that authorizes a request: the key itself, or a ticket bought with it. */
export async function credentialFor(
  service: Service,
  { inferenceKey }: Pick<TestAccount, 'inferenceKey'>,
  body: Record<string, unknown>,
  flow: Flow,
): Promise<Record<string, string> | Response> {
  const bearer = { authorization: `Bearer ${inferenceKey}` };
  if (flow === 'compatibility') return bearer;
  const minted = await fetch(`${service.controlUrl}/inference/tickets`, {
    method: 'POST',
    headers: { ...bearer, 'content-type': 'application/json' },
    body: JSON.stringify(ticketRequestOf(body)),
  });
  if (minted.status !== 200) return minted;
  const { ticket } = (await minted.json()) as { ticket: string };
  return { 'x-router-ticket': ticket };
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  if (!(headers.get('content-type') ?? '').startsWith('text/event-stream')) {
    const body = JSON.parse(text) as Body;
    const content = body.choices?.[0]?.message?.content ?? '';
    return { status, headers, text, body, chunks: [], done: false, content, error: body.error };
  }
  return { status, headers, text, ...readStream(text) };
}

/** Reads a stream strictly: see `payloadsOf`. Every payload is JSON. */
export function readStream(text: string): Pick<Answer, 'body' | 'chunks' | 'done' | 'content' | 'error'> {
  const { payloads, done } = payloadsOf(text);
  const chunks = payloads.map((payload) => JSON.parse(payload) as Body);
  const body = chunks.at(-1) ?? {};
  const content = chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('');
  return { body, chunks, done, content, error: chunks.find((chunk) => chunk.error !== undefined)?.error };
}

/** Creates accounts by name, concurrently. */
export async function createAccounts<Name extends string>(
  service: Service,
  preferences: Readonly<Record<Name, Parameters<Service['setPreferences']>[1]>>,
): Promise<Record<Name, TestAccount>> {
  const names = Object.keys(preferences) as Name[];
  const accounts = await Promise.all(
    names.map((name) =>
      service.createAccount({ usd: 1000, preferences: { provider_sort: 'privacy', ...preferences[name] } }),
    ),
  );
  return Object.fromEntries(names.map((name, index) => [name, accounts[index]])) as Record<Name, TestAccount>;
}
