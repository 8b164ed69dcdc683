import {
  brokenOff,
  type ChatAnswer,
  type ChatFailure,
  ChatStreamReader,
  type Models,
  parseExact,
  readFailure,
  type Translation,
  UnwritableAnswer,
  type WrittenAnswer,
} from '@sotto/dialects';
import { operationPaths, ServiceError } from '@sotto/wire';
import { answerFrom, answerOfFailure, answerOfRefusal } from '../answer.ts';
import { bounded, readText } from '../bounded-body.ts';
import { ClientError } from '../errors.ts';
import type { ContentAnswer } from '../gateway/platform.ts';
import type { AskedRequest, Exchange } from '../private/private-exchange.ts';
import { parseBody } from '../private/question.ts';
import type { SentRequests } from '../private/sent-requests.ts';
import { lossOf, onePiece, rewritten } from './rewritten-answer.ts';

/** How one dialect reads a request and writes a failure. */
export interface DialectRoute {
  /** Throws a `ServiceError` for a request that cannot be translated. */
  readonly translate: (value: unknown, models: Models) => Translation;
  readonly failure: (failure: ChatFailure, translation: Translation | undefined) => WrittenAnswer;
}

export interface ServedRequest {
  readonly exchange: Exchange;
  readonly asked: AskedRequest;
  readonly models: Models;
  readonly route: DialectRoute;
  /** Whether the caller repeats failed requests without saying so. */
  readonly isAgent: boolean;
  /** Conversations whose answers broke off. They may have been charged. */
  readonly broken: SentRequests;
  readonly note: (text: string) => void;
}

/** Answers a request of another dialect: translates it, sends it through the private flow, translates the answer. */
export async function serveTranslation(served: ServedRequest): Promise<ContentAnswer> {
  const { asked, models, route, note } = served;
  let translation: Translation | undefined;
  try {
    translation = route.translate(parseBody(asked.body, parseExact), models);
    for (const text of translation.notes) note(text);
    return await answerTo(served, translation);
  } catch (error) {
    if (asked.signal.aborted) throw error;
    return writtenAnswer(route.failure(await failureOf(error), translation));
  }
}

async function answerTo(served: ServedRequest, translation: Translation): Promise<ContentAnswer> {
  const { exchange, asked, route, broken, isAgent } = served;
  const { body } = translation;
  if (isAgent && (await broken.has(conversationOf(translation)))) throw new ClientError('retry_refused');
  const answer = await exchange.ask({
    ...asked,
    path: operationPaths.chat,
    body: JSON.stringify(body),
  });
  if (answer.status !== 200) {
    const text = await readText(answer.body, asked.signal);
    const { status, headers } = answer;
    return writtenAnswer(route.failure(readFailure({ status, headers, body: text }), translation));
  }
  const kept = answer.headers.filter(([name]) => isKept(name));
  const requestId = kept.flatMap(([name, value]) => (name === 'x-request-id' ? [['request-id', value] as const] : []));
  const answerAs = (type: string, written: AsyncIterable<Uint8Array>): ContentAnswer =>
    rewritten(
      { ...answer, headers: [['cache-control', 'no-store'], ...kept, ...requestId, ['content-type', type]] },
      written,
    );
  const breaks = (): Promise<void> => broken.remember(conversationOf(translation));
  if (body.stream === true) {
    const type = translation.streamType ?? 'text/event-stream';
    return answerAs(type, translated(answer, translation, { signal: asked.signal, breaks }));
  }
  const whole = await wholeOf(answer, { signal: asked.signal, breaks });
  return answerAs('application/json', onePiece(JSON.stringify(translation.whole(whole))));
}

interface Breaking {
  readonly signal: AbortSignal;
  /** Called if the answer broke off, although the caller still waits for it. */
  readonly breaks: () => Promise<void>;
}

async function wholeOf(answer: ContentAnswer, { signal, breaks }: Breaking): Promise<ChatAnswer> {
  try {
    const whole = JSON.parse(await readText(answer.body, signal)) as ChatAnswer;
    if (Array.isArray(whole.choices)) return whole;
    throw new Error('the answer has no choices');
  } catch (error) {
    if (signal.aborted) throw error;
    await breaks();
    throw lossOf(error);
  }
}

/** Translates a streamed answer. One piece is written for each piece that arrives. */
async function* translated(
  answer: ContentAnswer,
  translation: Translation,
  { signal, breaks }: Breaking,
): AsyncIterable<Uint8Array> {
  const writer = translation.stream();
  let out = '';
  const reader = new ChatStreamReader({
    chunk(chunk) {
      out += writer.chunk(chunk);
    },
  });
  const taken = (more = ''): Uint8Array => {
    const text = out + more;
    out = '';
    return Buffer.from(text);
  };
  try {
    for await (const piece of bounded(answer.body)) {
      const isIdle = reader.push(piece);
      if (reader.isDone) out += writer.end();
      const text = taken(isIdle ? writer.keepAlive() : '');
      if (text.length > 0) yield text;
    }
    reader.end();
  } catch (error) {
    if (signal.aborted) throw error;
    const isOwn = error instanceof ClientError;
    const { message } = isOwn || error instanceof UnwritableAnswer ? error : brokenOff;
    out += writer.fail({ ...brokenOff, ...(isOwn ? { code: error.code } : {}), message });
  }
  const last = taken(writer.end());
  if (!writer.isWhole) await breaks();
  if (last.length > 0) yield last;
}

/** The headers of the service's answer that stay true of a translated one. */
const isKept = (name: string): boolean => /^x-(?:router|ratelimit|request)-/.test(name);

/** Returns the text by which a second try is recognised. An agent may ask for a whole answer after a stream broke off. */
const conversationOf = ({ body: { model, messages } }: Translation): string => JSON.stringify([model, messages]);

/** Reads an error of this client or of a dialect as a failure. Throws any other error on. */
export async function failureOf(thrown: unknown): Promise<ChatFailure> {
  const error =
    thrown instanceof UnwritableAnswer ? new ClientError('answer_lost', undefined, { detail: thrown.message }) : thrown;
  const answer =
    error instanceof ServiceError
      ? answerOfRefusal(error)
      : error instanceof ClientError
        ? answerOfFailure(error)
        : undefined;
  if (answer === undefined) throw error;
  return readFailure({ status: answer.status, headers: [...answer.headers], body: await answer.text() });
}

/** Wraps an answer of the proxy itself. */
export const writtenAnswer = ({ status, headers, body }: WrittenAnswer): ContentAnswer =>
  answerFrom(new Response(body, { status, headers }));
