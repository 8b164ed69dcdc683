import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { ContentAnswer, ContentRequest } from '../gateway/platform.ts';

/** Above the time in ms that a broker waits for a provider. The callers' signals end a request earlier. */
export const silenceMs = 20 * 60_000;

/**
 * Sends one request over undici's connections. `onFree` is called once, when the connection has nothing left to carry of it:
 * the body was read to its end or given up, or there is no answer.
 */
export async function sendOver(
  dispatcher: Dispatcher,
  { method = 'POST', path, headers, body, signal }: ContentRequest,
  onFree: () => void = () => undefined,
): Promise<ContentAnswer> {
  let isFree = false;
  const free = (): void => {
    if (isFree) return;
    isFree = true;
    onFree();
  };
  try {
    const answer = await dispatcher.request({
      path,
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      ...(signal === undefined ? {} : { signal }),
    });
    answer.body.once('end', free).once('close', free);
    return answerOf(answer.statusCode, answer.headers, answer.body);
  } catch (error) {
    free();
    throw error;
  }
}

function answerOf(status: number, received: IncomingHttpHeaders, body: Readable): ContentAnswer {
  const headers = Object.entries(received).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap((each): [string, string][] =>
      each === undefined ? [] : [[name, each]],
    ),
  );
  return {
    status,
    headers,
    body,
    toResponse() {
      const init = { status, headers: headers.map(([name, value]): [string, string] => [name, value]) };
      // Answers with these statuses have no body, and a `Response` would reject one.
      if (status !== 204 && status !== 205 && status !== 304) {
        return new Response(Readable.toWeb(body) as ReadableStream<Uint8Array>, init);
      }
      body.resume();
      return new Response(null, init);
    },
  };
}
