import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { type SealedRequest, sealChat } from '@sotto/client';
import { vouchForKey } from '@sotto/client/testing';
import { relayRules } from '@sotto/wire';
import type { Service, TestAccount } from '../../kit/service.ts';
import type { SealedProvider } from './world.ts';

/** A sealed request, ready to be sent and, before that, to be spoiled. */
export interface Prepared {
  readonly sealed: SealedRequest;
  readonly stream: boolean;
  readonly headers: Record<string, string>;
  body: Buffer;
}

export interface SealedAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly ended: 'answered' | 'left' | 'broken';
}

export interface OpenAnswer {
  readonly answer: Promise<SealedAnswer>;
  /** Resolves with the first byte of the body. */
  readonly started: Promise<void>;
  leave(): void;
}

export interface AskOptions {
  readonly stream?: boolean;
  readonly messages?: readonly object[];
  readonly maxTokens?: number;
  readonly effort?: string;
  /** Replaces members of `x-router-e2ee`, and of the ticket request. */
  readonly asked?: Readonly<Record<string, unknown>>;
}

/** The only way in which one of the families answers. */
export const answersAs = ({ kind }: SealedProvider, stream: boolean): boolean => stream || kind === 'venice';

/** Mints a ticket for a provider's model and seals a chat to its enclave. */
export async function prepare(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  provider: SealedProvider,
  {
    stream = false,
    messages = [{ role: 'user', content: 'Say it.' }],
    maxTokens = 500,
    effort,
    asked,
  }: AskOptions = {},
): Promise<Prepared> {
  const { kind, family, model, enclave } = provider;
  const question = {
    model,
    provider: { only: [kind], allow_fallbacks: false, minimum_privacy: 'e2ee' },
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...asked,
  };
  const { ticket } = await service.mintTicket(account.inferenceKey, question);
  const chat = { model, messages, stream, max_tokens: maxTokens, reasoning_effort: effort };
  const sealed = await sealChat(vouchForKey(enclave.nextKey()), chat);
  const streams = answersAs(provider, stream);
  return {
    sealed,
    stream: streams,
    headers: {
      ...sealed.headers,
      'content-type': relayRules[family].contentType,
      'x-router-ticket': ticket,
      'x-router-e2ee': JSON.stringify({ family, ...question, stream: streams }),
    },
    body: Buffer.from(sealed.body),
  };
}

/** Sends a prepared request to the broker. */
export function open(service: Service, { headers, body }: Pick<Prepared, 'headers' | 'body'>): OpenAnswer {
  const pieces: Buffer[] = [];
  let begin = (): void => {};
  let leaving = false;
  const started = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const request = httpRequest(`${service.baseUrl}/chat/completions`, { agent: false, method: 'POST', headers });
  const answer = new Promise<SealedAnswer>((resolve) => {
    let status = 0;
    let got: IncomingHttpHeaders = {};
    const end = (ended: SealedAnswer['ended']): void =>
      resolve({ status, headers: got, body: Buffer.concat(pieces), ended: leaving ? 'left' : ended });
    request.on('error', () => end('broken'));
    request.on('response', (response) => {
      status = response.statusCode ?? 0;
      got = response.headers;
      response.on('error', () => end('broken'));
      response.on('close', () => end('broken'));
      response.on('data', (piece: Buffer) => {
        pieces.push(piece);
        begin();
      });
      response.on('end', () => end(response.complete ? 'answered' : 'broken'));
    });
  });
  request.end(body);
  return {
    answer,
    started,
    leave() {
      leaving = true;
      request.destroy();
    },
  };
}

/** Mints, seals, sends, and reads the answer, still sealed. */
export async function ask(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  provider: SealedProvider,
  options: AskOptions = {},
): Promise<{ readonly prepared: Prepared; readonly answer: SealedAnswer }> {
  const prepared = await prepare(service, account, provider, options);
  return { prepared, answer: await open(service, prepared).answer };
}

/** Sends what is prepared once it is spoiled, and tells status and type of the refusal, and what it says. */
export async function refusalOf(service: Service, prepared: Pick<Prepared, 'headers' | 'body'>) {
  const { status, body } = await open(service, prepared).answer;
  const { error } = JSON.parse(body.toString()) as { error: { type: string; message: string; param?: string } };
  return { status, type: error.type, message: error.message, param: error.param };
}

/** What a user reads of a sealed answer. */
export async function opened({ sealed, stream }: Prepared, { headers, body }: SealedAnswer): Promise<string> {
  const received = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
  if (!stream) {
    const whole = JSON.parse(await sealed.openWhole(received, body)) as {
      choices: { message: { content: string } }[];
    };
    return whole.choices[0]?.message.content ?? '';
  }
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new Uint8Array(body));
      controller.close();
    },
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const bytes of source.pipeThrough(sealed.openStream(received))) {
    text += decoder.decode(bytes, { stream: true });
  }
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] })
    .flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''))
    .join('');
}

/** What an account was charged, in nano-USD, for what happened in between. */
export async function chargeOf(service: Service, account: TestAccount, act: () => Promise<unknown>): Promise<bigint> {
  const before = await service.settled(account);
  await act();
  return before - (await service.settled(account));
}
