import {
  type ChatAnswer,
  KeptAnswers,
  type Models,
  type Translation,
  translateMessages,
  translateResponses,
} from '@sotto/dialects';
import { eventsIn, runStream } from '@sotto/dialects/testing';
import { loadAdapter } from '@sotto/providers';
import { type Said, saidReaders } from '../replay/said.ts';

/** The way of an answer from a provider through its adapter and a dialect of the local proxy, without a server. */
export const adapters = {
  openai: await loadAdapter('openai'),
  anthropic: await loadAdapter('anthropic'),
  google: await loadAdapter('google'),
  bedrock: await loadAdapter('bedrock'),
};
export type AdapterName = keyof typeof adapters;

const options = { identity: { id: 'chatcmpl-ours', created: 1, model: 'acme/small' }, stripReasoning: false };
const models: Models = { resolve: (name) => name, find: () => undefined };

/** Reads a whole answer of a provider as the service sends it. Throws the outcome of a failed attempt. */
export function wholeChat(api: AdapterName, body: string): ChatAnswer {
  const reading = adapters[api].readChat(Buffer.from(body), options);
  if (!reading.ok) throw new Error(reading.outcome);
  return {
    ...reading.answer,
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost: 0 },
  } as ChatAnswer;
}

/** Reads a stream of a provider as the service sends it. Throws the outcome of a failed attempt. */
export function streamedChat(api: AdapterName, frames: readonly Buffer[]): Uint8Array {
  const reader = adapters[api].openChatStream(options);
  const sent = frames.map((frame) => reader.push(frame.toString('latin1')));
  sent.push(reader.end());
  if (reader.failure !== undefined) throw new Error(reader.failure);
  if (!reader.isComplete) throw new Error('incomplete');
  return Buffer.from(sent.join(''), 'latin1');
}

export interface Output {
  readonly output: readonly {
    readonly type: string;
    readonly summary?: readonly { readonly text: string }[];
    readonly content?: readonly { readonly text?: string; readonly refusal?: string }[];
    readonly call_id?: string;
    readonly name?: string;
    readonly arguments?: string;
  }[];
}

/** Reads the content of a response. */
export function saidBy({ output }: Output): Pick<Said, 'text' | 'reasoning' | 'calls'> {
  const texts = output.flatMap(({ content = [] }) => content.map((part) => part.text ?? part.refusal ?? ''));
  const thoughts = output.flatMap(({ summary = [] }) => summary.map(({ text }) => text));
  const calls = output.flatMap((item) =>
    item.type === 'function_call'
      ? [{ id: item.call_id ?? '', name: item.name ?? '', args: item.arguments ?? '' }]
      : [],
  );
  return { text: texts.join(''), reasoning: thoughts.join(''), calls };
}

const hi = [{ role: 'user', content: 'hi' }];
export const asMessages = (stream: boolean, more: readonly object[] = [], fields: object = {}): Translation =>
  translateMessages({ model: 'acme/small', max_tokens: 100, stream, messages: [...hi, ...more], ...fields }, models);
export const asResponses = (stream: boolean, more: readonly object[] = [], fields: object = {}): Translation =>
  translateResponses({ model: 'acme/small', stream, input: [...hi, ...more], ...fields }, models, {
    isCodex: false,
    kept: new KeptAnswers(),
  });

/** The content of an answer in each dialect. The Responses API has no finish reason beside calls. */
export type DialectName = 'chat' | 'messages' | 'responses';
export type Content = Pick<Said, 'text' | 'reasoning' | 'calls'> & { readonly finish?: string | undefined };

export const wholeIn: Readonly<Record<DialectName, (answer: ChatAnswer) => Content>> = {
  chat: (answer) => saidReaders.openai.whole(JSON.stringify(answer)),
  messages: (answer) => saidReaders.anthropic.whole(JSON.stringify(asMessages(false).whole(answer))),
  responses: (answer) => saidBy(asResponses(false).whole(answer) as Output),
};

export const streamedIn: Readonly<Record<DialectName, (pieces: readonly Uint8Array[]) => Content>> = {
  chat: (pieces) => {
    const events = Buffer.concat(pieces).toString('utf8').split('\n\n').slice(0, -1);
    return saidReaders.openai.stream(events.map((event) => event.slice('data: '.length)));
  },
  messages: (pieces) => {
    const events = eventsIn(runStream(asMessages(true).stream(), pieces));
    return saidReaders.anthropic.stream(events.map((event) => JSON.stringify(event)));
  },
  responses: (pieces) => {
    const last = eventsIn(runStream(asResponses(true).stream(), pieces)).at(-1) as unknown as { response: Output };
    return saidBy(last.response);
  },
};
