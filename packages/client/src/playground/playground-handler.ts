import type { IncomingMessage, ServerResponse } from 'node:http';
import { ServiceError } from '@sotto/wire';
import { answerOfRefusal } from '../answer.ts';
import type { Exchange } from '../private/private-exchange.ts';
import { ownPageWith, requireOwnHost } from '../proxy/local-caller.ts';
import { proxyHandler } from '../proxy/proxy-handler.ts';
import { pageExchange } from './page-exchange.ts';
import { type PageFiles, startFile } from './page-files.ts';
import type { PlaygroundStanding } from './standing.ts';

export interface PlaygroundOptions {
  readonly page: PageFiles;
  readonly exchange: Exchange;
  readonly standing: () => PlaygroundStanding;
  /** The page must show it to ask anything. */
  readonly token: string;
  /** Called when an answer broke off, with only the failure's code or name: a message may quote content. */
  readonly onUnexpected: (name: string) => void;
}

/**
 * The page runs its own scripts and speaks to this server alone. Pictures and speech that it makes from answers have `blob:`
 * addresses. No other page may show it in a frame, load its files or keep a hold of its window.
 */
const headers: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "font-src 'self'",
    "img-src 'self' blob:",
    'media-src blob:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
};

/**
 * Serves the page of the playground, and the private flow to it. The files are open to every program on this machine: they hold
 * no secret. Everything else needs the token.
 */
export function playgroundHandler({
  page,
  exchange,
  standing,
  token,
  onUnexpected,
}: PlaygroundOptions): (request: IncomingMessage, response: ServerResponse) => void {
  const serveFlow = proxyHandler({
    exchange: pageExchange(exchange, standing),
    requireCaller: ownPageWith(token),
    onUnexpected,
  });
  return (request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const file = request.method === 'GET' ? page.files.get(nameOf(request)) : undefined;
    if (file === undefined) return serveFlow(request, response);
    try {
      requireOwnHost(request);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return void refuse(error, response);
    }
    response.writeHead(200, { 'content-type': file.type, 'content-length': file.bytes.length }).end(file.bytes);
  };
}

/** The name of the file that an address means. The address of a request has no fragment. */
function nameOf({ url = '/' }: IncomingMessage): string {
  const path = url.replace(/\?.*$/, '');
  return path === '/' ? startFile : path.slice(1);
}

async function refuse(error: ServiceError, response: ServerResponse): Promise<void> {
  const answer = answerOfRefusal(error);
  response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text());
}
