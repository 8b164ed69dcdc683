import type { ServerResponse } from 'node:http';
import { answerError, type ProviderHandler } from '../provider.ts';

/** A text that no client and no log may ever see. */
export const rawText = 'RAW-PROVIDER-ERROR';

/** A failure of a provider: whether the broker tries the next provider, the penalty, and the client's error. */
export interface Row {
  readonly name: string;
  readonly does: ProviderHandler;
  readonly next: boolean;
  readonly penalizes: 'route' | 'none';
  /** The client's error if the broker tried no other provider. */
  readonly alone: readonly [status: number, type: string];
  /** Whether it stays unknown if the provider processed the request (an ambiguous failure). */
  readonly ambiguous?: boolean;
}

type Alone = Row['alone'];
const providerError: Alone = [502, 'provider_error'];
const invalidRequest: Alone = [400, 'invalid_request'];
const rateLimited: Alone = [429, 'rate_limited'];

const says =
  (status: number, type: string, body: string): ProviderHandler =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': type });
    response.end(body);
  };

/** Sends a part of an answer as if more followed, and then closes the connection. */
const breaksOff =
  (headers: Record<string, string>, ...pieces: readonly string[]): ProviderHandler =>
  async (_request, response) => {
    response.writeHead(200, headers);
    response.flushHeaders();
    for (const piece of pieces) await new Promise((resolve) => response.write(piece, resolve));
    response.destroy();
  };

export const close = (response: ServerResponse): void => {
  response.destroy();
};

export const reset = (response: ServerResponse): void => {
  response.socket?.resetAndDestroy();
};

const status = (code: number, penalizes: Row['penalizes'], alone: Alone, next = true): Row => ({
  name: String(code),
  does: answerError(code, { message: rawText, code: 'raw' }, { 'x-raw': rawText }),
  next,
  penalizes,
  alone,
});

const unreadable = (name: string, does: ProviderHandler): Row => ({
  name,
  does,
  next: true,
  penalizes: 'route',
  alone: providerError,
  ambiguous: true,
});

const refusalOf = (name: string, error: object): Row => ({
  name,
  does: answerError(400, { message: rawText, ...error }),
  next: false,
  penalizes: 'none',
  alone: invalidRequest,
});

const json = { 'content-type': 'application/json' };

/** Every failure that a fake provider can play, except 401 and 402: those affect the whole provider. */
export const rows: readonly Row[] = [
  status(429, 'route', rateLimited),
  status(500, 'route', providerError),
  status(502, 'route', providerError),
  status(503, 'route', providerError),
  status(529, 'route', providerError),
  status(404, 'route', providerError),
  status(403, 'none', providerError),
  status(409, 'none', providerError),
  status(413, 'none', invalidRequest),
  status(422, 'none', invalidRequest),
  status(400, 'none', invalidRequest, false),
  refusalOf('a content-policy refusal', { code: 'content_policy_violation' }),
  refusalOf('a content filter', { code: 'content_filter', type: 'invalid_request_error' }),
  { ...status(502, 'route', providerError), name: 'a 502 page', does: says(502, 'text/html', `<h1>${rawText}</h1>`) },
  unreadable('an HTML page', says(200, 'text/html', `<html><body>${rawText}</body></html>`)),
  unreadable('plain words', says(200, 'text/plain', `${rawText}\n`)),
  unreadable('broken JSON', says(200, 'application/json', `{"choices": [{"${rawText}`)),
  unreadable('JSON without choices', says(200, 'application/json', `{"object": "${rawText}"}`)),
  unreadable('no choices', says(200, 'application/json', `{"choices": [], "note": "${rawText}"}`)),
  unreadable('a JSON string', says(200, 'application/json', `"${rawText}"`)),
  unreadable('an empty body', says(200, 'application/json', '')),
  unreadable('no content', (_request, response) => {
    response.writeHead(204).end();
  }),
  unreadable('an error under status 200', says(200, 'application/json', `{"error": {"message": "${rawText}"}}`)),
  unreadable('a redirect', (_request, response) => {
    response.writeHead(307, { location: '/v1/chat/completions?again' }).end(rawText);
  }),
  unreadable('a connection that is closed', (_request, response) => close(response)),
  unreadable('a connection that is reset', (_request, response) => reset(response)),
  unreadable('headers alone', breaksOff(json)),
  unreadable('half a body', breaksOff({ ...json, 'content-length': '5000' }, `{"choices": [{"${rawText}`)),
];
