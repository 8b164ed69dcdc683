import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '@sotto/wire';

/** Throws `forbidden` or `invalid_api_key` unless a request comes from a caller that this server is for. */
export type RequireCaller = (request: IncomingMessage) => void;

const localHost = /^(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?$/;

/**
 * Lets programs on this machine in. It refuses web pages, which could otherwise spend the user's balance and read the answers.
 *
 * @param token - What each program must show. Undefined: none is asked for.
 */
export const programsWith =
  (token: string | undefined): RequireCaller =>
  (request) => {
    // A web page could bypass its own origin with a foreign host name that resolves to this machine (DNS rebinding).
    if (!localHost.test(request.headers.host ?? '')) {
      throw new ServiceError('forbidden', {
        message: 'This proxy serves only this machine. Address it as 127.0.0.1 or localhost.',
      });
    }
    const { origin, 'sec-fetch-site': site } = request.headers;
    if (origin !== undefined || (site !== undefined && site !== 'none')) {
      throw new ServiceError('forbidden', { message: 'This proxy does not serve web pages.' });
    }
    if (token !== undefined && !showsToken(request, token)) {
      throw new ServiceError('invalid_api_key', {
        message:
          'This proxy serves only programs that send its token as their API key. The token stands where the proxy was started.',
      });
    }
  };

/**
 * Lets the page in that this server serves, and no other. Pages of other ports are other origins, but browsers share cookies
 * between the ports of a machine. So the token travels in a header, and the page has it from the fragment of its address.
 */
export const ownPageWith =
  (token: string): RequireCaller =>
  (request) => {
    requireOwnHost(request);
    const { origin, 'sec-fetch-site': site } = request.headers;
    const isForeign = origin !== undefined && origin !== ownOrigin(request);
    if (isForeign || (site !== undefined && site !== 'same-origin')) {
      throw new ServiceError('forbidden', { message: 'This server answers only the page that it serves.' });
    }
    if (!showsToken(request, token)) {
      throw new ServiceError('forbidden', {
        message: 'The token is missing or old. Open the address that `sotto playground` printed when it started.',
      });
    }
  };

/** Throws `forbidden` unless a request names this server by its address. Another name would be another origin (DNS rebinding). */
export function requireOwnHost(request: IncomingMessage): void {
  const origin = ownOrigin(request);
  if (`http://${request.headers.host}` === origin) return;
  throw new ServiceError('forbidden', { message: `This page has the address ${origin}, and no other.` });
}

/** The origin of the server that received a request. */
const ownOrigin = ({ socket }: IncomingMessage): string => new URL(`http://127.0.0.1:${socket.localPort}`).origin;

/** Whether a request shows a token where tools send their API key. Compares in constant time. */
function showsToken({ headers }: IncomingMessage, token: string): boolean {
  const bearer = /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1];
  return [bearer, headers['x-api-key'], headers['x-goog-api-key']].some(
    (shown) => typeof shown === 'string' && timingSafeEqual(digest(shown), digest(token)),
  );
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
