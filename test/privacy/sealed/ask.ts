import { type SealedRequest, sealChat } from '@sotto/client';
import { vouchForKey } from '@sotto/client/testing';
import { relayRules } from '@sotto/wire';
import { type BytesAnswer, type OpenBytes, openBytes } from '../../kit/open-bytes.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import type { SealedProvider } from './world.ts';

/** A sealed request that is ready to be sent, or to be spoiled before that. */
export interface Prepared {
  readonly sealed: SealedRequest;
  readonly stream: boolean;
  readonly headers: Record<string, string>;
  body: Buffer;
}

export interface AskOptions {
  readonly stream?: boolean;
  readonly messages?: readonly object[];
  readonly maxTokens?: number;
}

/** Mints a ticket for a provider's model and seals a chat to its enclave. */
export async function prepare(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  provider: SealedProvider,
  { stream = false, messages = [{ role: 'user', content: 'Say it.' }], maxTokens = 500 }: AskOptions = {},
): Promise<Prepared> {
  const { kind, family, model, enclave } = provider;
  const question = { model, provider: { only: [kind], allow_fallbacks: false, minimum_privacy: 'e2ee' } };
  const { ticket } = await service.mintTicket(account.inferenceKey, question);
  const chat = { model, messages, stream, max_tokens: maxTokens };
  const sealed = await sealChat(vouchForKey(enclave.nextKey()), chat);
  // One family always streams.
  const streams = stream || kind === 'venice';
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
export const open = (service: Service, { headers, body }: Pick<Prepared, 'headers' | 'body'>): OpenBytes =>
  openBytes(`${service.baseUrl}/chat/completions`, headers, body);

/** Mints, seals and sends. Resolves to the answer, still sealed. */
export async function askSealed(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  provider: SealedProvider,
  options: AskOptions = {},
): Promise<{ readonly prepared: Prepared; readonly answer: BytesAnswer }> {
  const prepared = await prepare(service, account, provider, options);
  return { prepared, answer: await open(service, prepared).answer };
}

/** Sends a prepared request that was spoiled. Resolves to the refusal's status, type and message. */
export async function refusalOf(service: Service, prepared: Pick<Prepared, 'headers' | 'body'>) {
  const { status, bytes } = await open(service, prepared).answer;
  const { error } = JSON.parse(bytes.toString()) as { error: { type: string; message: string } };
  return { status, type: error.type, message: error.message };
}

/** Opens a sealed answer. Resolves to the text that a user reads. */
export async function opened({ sealed, stream }: Prepared, { headers, bytes: body }: BytesAnswer): Promise<string> {
  const received = new Headers(Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]));
  if (!stream) {
    const whole = JSON.parse(await sealed.openWhole(received, body)) as {
      choices: { message: { content: string } }[];
    };
    return whole.choices[0]?.message.content ?? '';
  }
  const source = new Blob([new Uint8Array(body)]).stream();
  const text = await new Response(source.pipeThrough(sealed.openStream(received))).text();
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice(6)) as { choices: { delta: { content?: string } }[] })
    .flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ''))
    .join('');
}
