import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Service, TestAccount } from '../../kit/service.ts';

export type Operation = 'image' | 'speech';

const paths = { image: '/images/generations', speech: '/audio/speech' } as const;

/** What a client got, as bytes. */
export interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** Whether the answer came to its proper end, the client left, or the connection broke. */
  readonly ended: 'answered' | 'left' | 'broken';
}

/** A request under way, of a client that may be slow or leave. */
export interface OpenRequest {
  readonly answer: Promise<Answer>;
  /** Resolves with the first byte of the answer's body. */
  readonly started: Promise<void>;
  readonly received: number;
  leave(): void;
  /** Begins to read, where it was opened without. */
  read(): void;
}

export interface SendOptions {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** False: the answer is left where it is until `read`. */
  readonly reading?: boolean;
}

const agent = new Agent({ keepAlive: false });

/** Sends a body to the broker as a bare HTTP client. */
export function send(service: Service, body: object, options: SendOptions): OpenRequest {
  const { path, headers = {}, reading = true } = options;
  const pieces: Buffer[] = [];
  let bytes = 0;
  let begin = (): void => {};
  let go = (): void => {};
  let leaving = false;
  const started = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const request = httpRequest(`${service.baseUrl}${path}`, {
    agent,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  const answer = new Promise<Answer>((resolve) => {
    let status: number | undefined;
    let got: IncomingHttpHeaders = {};
    const end = (ended: Answer['ended']): void =>
      resolve({ status, headers: got, bytes: Buffer.concat(pieces), ended: leaving ? 'left' : ended });
    request.on('error', () => end('broken'));
    request.on('response', (response) => {
      status = response.statusCode;
      got = response.headers;
      response.on('error', () => end('broken'));
      response.on('close', () => end('broken'));
      const read = (): void => {
        response.on('data', (piece: Buffer) => {
          pieces.push(piece);
          bytes += piece.length;
          begin();
        });
        response.on('end', () => end(response.complete ? 'answered' : 'broken'));
      };
      if (reading) read();
      else go = read;
    });
  });
  request.end(JSON.stringify(body));
  return {
    answer,
    started,
    get received() {
      return bytes;
    },
    leave() {
      leaving = true;
      request.destroy();
    },
    read: () => go(),
  };
}

/** The body of a ticket request for a media body. */
export function ticketRequestOf(operation: Operation, body: Readonly<Record<string, unknown>>): object {
  const { model, provider, size, voice, response_format, input } = body;
  const settings = operation === 'image' ? { size } : { voice, input_chars: String(input).length };
  return { operation, model, provider, response_format, ...settings };
}

/** Opens a request with a ticket bought for it. */
export async function open(
  service: Service,
  account: Pick<TestAccount, 'inferenceKey'>,
  operation: Operation,
  body: Readonly<Record<string, unknown>>,
  options: { readonly reading?: boolean } = {},
): Promise<OpenRequest> {
  const { ticket } = await service.mintTicket(account.inferenceKey, ticketRequestOf(operation, body));
  return send(service, body, { path: paths[operation], headers: { 'x-router-ticket': ticket }, ...options });
}

/** Asks with a ticket bought for it, and reads the whole answer. */
export const ask = async (...asked: Parameters<typeof open>): Promise<Answer> => (await open(...asked)).answer;

/** The parsed body of a JSON answer. */
export const jsonOf = ({ bytes }: Answer): Record<string, unknown> =>
  JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;

/** Status and error type of an answer. */
export function errorOf(answer: Answer): readonly [status: number | undefined, type: unknown] {
  const { error } = jsonOf(answer) as { error?: { type: string } };
  return [answer.status, error?.type];
}

/** What an account was charged, in nano-USD, for what happened in between. */
export async function chargeOf(service: Service, account: TestAccount, act: () => Promise<unknown>): Promise<bigint> {
  const before = await service.settled(account);
  await act();
  return before - (await service.settled(account));
}
