import { type BytesAnswer, type OpenBytes, openBytes } from '../../kit/open-bytes.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import type { Operation } from './spec.ts';

export const paths = { image: '/images/generations', speech: '/audio/speech' } as const;

interface SendOptions {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** If false, the client leaves the answer unread until `read` is called. */
  readonly reading?: boolean;
}

/** Sends a body to the broker as a plain HTTP client. */
export const send = (service: Service, body: object, { path, headers = {}, reading }: SendOptions): OpenBytes =>
  openBytes(`${service.baseUrl}${path}`, { 'content-type': 'application/json', ...headers }, JSON.stringify(body), {
    reading,
  });

/** Returns the body of the ticket request for a media body. */
function ticketRequestOf(operation: Operation, body: Readonly<Record<string, unknown>>): object {
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
): Promise<OpenBytes> {
  const { ticket } = await service.mintTicket(account.inferenceKey, ticketRequestOf(operation, body));
  return send(service, body, { path: paths[operation], headers: { 'x-router-ticket': ticket }, ...options });
}

/** Sends a request with a ticket bought for it, and reads the whole answer. */
export const askMedia = async (...asked: Parameters<typeof open>): Promise<BytesAnswer> =>
  (await open(...asked)).answer;

/** Returns the parsed body of a JSON answer. */
export const jsonOf = ({ bytes }: BytesAnswer): Record<string, unknown> =>
  JSON.parse(bytes.toString('utf8')) as Record<string, unknown>;

/** Returns the status and the error type of an answer. */
export function errorOf(answer: BytesAnswer): readonly [status: number | undefined, type: unknown] {
  const { error } = jsonOf(answer) as { error?: { type: string } };
  return [answer.status, error?.type];
}
