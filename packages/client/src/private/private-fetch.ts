import { ServiceError } from '@sotto/wire';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { answerOfRefusal } from '../local-answer.ts';
import type { PrivateExchange } from './private-exchange.ts';

/**
 * A `fetch` for any OpenAI SDK whose base address is the confidential origin's. What it throws left nothing of the content
 * behind; what may have been sent and lost is answered, with `x-should-retry: false`, so that no SDK buys it again.
 */
export interface PrivateFetch {
  (input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Verifies the confidential origin now, where no verification is in force. Throws as the first request would. */
  verified(): Promise<OriginVerification>;
  /** Lets go of connections; requests that run may end. */
  close(): void;
}

/** `exchange` as a function of the shape of `fetch`, for one confidential origin. */
export const fetchOver =
  (exchange: PrivateExchange, confidentialOrigin: string) =>
  async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const request = new Request(input, init);
    const { origin, pathname, search } = new URL(request.url);
    if (origin !== confidentialOrigin) {
      return answerOfRefusal(
        new ServiceError('not_found', {
          message: `This fetch was made for ${confidentialOrigin} and sends nothing elsewhere.`,
        }),
      );
    }
    const answer = await exchange.ask({
      method: request.method,
      path: `${pathname}${search}`,
      header: (name) => request.headers.get(name) ?? undefined,
      body: request.body === null ? '' : await request.text(),
      signal: request.signal,
    });
    return answer.toResponse();
  };
