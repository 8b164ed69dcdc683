import type { IncomingHttpHeaders } from 'node:http';
import { ServiceError } from '@sotto/wire';
import { hasSessionCookie } from './cookies.ts';

/** Whether a request may use its session cookie; `failed` names the check that refused it. */
export type SameOriginVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly failed: 'foreign_origin' | 'no_origin' };

/** The parts of a request that show where it came from. A Fastify request has them. */
export interface CrossSiteEvidence {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

const safeMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);
const accepted: SameOriginVerdict = { ok: true };

/**
 * The CSRF check of routes that accept a session cookie. A request that changes something by cookie must come from an
 * allowed origin (`Origin`, else `Referer`). It also passes if the browser itself calls it same-origin
 * (`Sec-Fetch-Site`, which scripts cannot set). A request with none of these headers passes if no form could have sent
 * it. Never throws.
 *
 * `same-origin` decides before `Origin`, because a page that sends no referrer has the origin `null`. It proves that our own page
 * asks: browsers compare the page's origin with the address of the request, and tell it only over TLS and to loopback addresses.
 * `none` proves less. Browsers also say it of requests by their extensions, and `Origin` then names the extension.
 */
export function assertSameOrigin(request: CrossSiteEvidence, allowedOrigins: readonly string[]): SameOriginVerdict {
  const { method, headers } = request;
  return safeMethods.has(method) || !hasSessionCookie(headers.cookie) ? accepted : comesFrom(request, allowedOrigins);
}

function comesFrom(request: CrossSiteEvidence, allowedOrigins: readonly string[]): SameOriginVerdict {
  const { headers } = request;
  const fetchSite = headers['sec-fetch-site'];
  if (fetchSite === 'same-origin') return accepted;
  const origin = headers.origin ?? originOf(headers.referer);
  if (origin !== undefined) return allowedOrigins.includes(origin) ? accepted : { ok: false, failed: 'foreign_origin' };
  return fetchSite === 'none' || isScripted(request) ? accepted : { ok: false, failed: 'no_origin' };
}

/**
 * The check of routes that begin sessions: a request that changes something must not come from a page of another site, whether or not it
 * has a cookie. Otherwise such a page could sign its visitor in to an account that it knows.
 */
export function isFromOurPages(request: CrossSiteEvidence, allowedOrigins: readonly string[]): boolean {
  return safeMethods.has(request.method) || comesFrom(request, allowedOrigins).ok;
}

/** Throws `forbidden` if a browser that follows the address would leave this service. */
export function assertOwnAddress(
  { param, address }: { readonly param: string; readonly address: string | undefined },
  { origin, allowedOrigins }: { readonly origin: string; readonly allowedOrigins: readonly string[] },
): void {
  if (address === undefined) return;
  const parsed = /^(?:\/|https?:\/\/)/i.test(address) ? URL.parse(address, origin) : null;
  // better-auth sends only the path of an address, and `/.//evil.example` has the path `//evil.example`, which names a host.
  if (parsed !== null && allowedOrigins.includes(parsed.origin) && !parsed.pathname.startsWith('//')) return;
  const message = `\`${param}\` is ${JSON.stringify(address)}; send a path or an address of ${origin}.`;
  throw new ServiceError('forbidden', { message, param });
}

/** The error of a request that the check refused. */
export const foreignOrigin = (): ServiceError =>
  new ServiceError('forbidden', { message: 'This request does not come from an allowed origin.' });

/**
 * Whether a state-changing request shows that no browser page of another site sent it. Browsers add `Origin` or
 * `Sec-Fetch-Site` to all of them. Without a preflight, a form can only send a POST of a type other than JSON. A form
 * names its type even if it sends nothing, so a POST without type and body does not come from a form.
 */
export function isScripted({ method, headers }: CrossSiteEvidence): boolean {
  if (headers.origin !== undefined || headers.referer !== undefined) return false;
  if (headers['sec-fetch-site'] !== undefined) return false;
  return method !== 'POST' || isEmpty(headers) || mediaType(headers['content-type']) === 'application/json';
}

const isEmpty = (headers: IncomingHttpHeaders): boolean =>
  headers['content-type'] === undefined &&
  headers['transfer-encoding'] === undefined &&
  Number(headers['content-length'] ?? 0) === 0;

function originOf(referer: string | undefined): string | undefined {
  if (referer === undefined) return undefined;
  return URL.canParse(referer) ? new URL(referer).origin : 'null';
}

function mediaType(contentType: string | undefined): string | undefined {
  return contentType?.split(';', 1)[0]?.trim().toLowerCase();
}
