import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import { buildDocument, pageContracts } from '@sotto/contract';
import { controlOrigin } from '@sotto/contract/control';
import { serveDescription } from '@sotto/server';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Domain } from '../domain.ts';
import { escaped } from '../serve/escaped.ts';

export interface DashboardOptions {
  readonly folder: string;
  /** The broker’s public origin. The page requests completions and evidence from it. */
  readonly confidentialOrigin: string;
}

const icon = '/favicon.svg';

/** Opens the built dashboard. Without a build, its address explains how to create one. */
export function openDashboard({ folder, confidentialOrigin }: DashboardOptions) {
  const built = readBuilt(folder);
  const page = built?.page.replaceAll('SOTTO_CONFIDENTIAL_ORIGIN', () => escaped(confidentialOrigin));
  const policy = policyFor(confidentialOrigin);

  const sendPage = (reply: FastifyReply): FastifyReply => {
    const nonce = randomBytes(16).toString('base64');
    return reply
      .headers({
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy(nonce),
        'cross-origin-opener-policy': 'same-origin',
        'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
        'referrer-policy': 'same-origin',
        'cache-control': 'no-store',
      })
      .send(page === undefined ? notBuilt : page.replaceAll('SOTTO_NONCE', nonce));
  };

  const isFile = (path: string): boolean => built !== undefined && (built.assets.has(path) || path === icon);

  return {
    isFile,
    sendPage,
    /** Answers a `GET` of the page or one of its files. Returns whether it did. */
    answer(request: FastifyRequest, reply: FastifyReply): boolean {
      const path = request.url.split('?', 1)[0] ?? '';
      if (request.method !== 'GET' && request.method !== 'HEAD') return false;
      if (isFile(path)) {
        // The icon’s name does not change with its content.
        const isKept = path !== icon;
        void reply.sendFile(path.slice(1), { maxAge: isKept ? '365d' : '1d', immutable: isKept });
        return true;
      }
      // Programs that request an unknown address get the error envelope, not a page.
      const isPage =
        !path.startsWith('/v1/') && path !== '/v1' && request.headers.accept?.includes('text/html') === true;
      if (isPage) void sendPage(reply);
      return isPage;
    },
    /** Registers what sends the files. */
    async register(app: FastifyInstance): Promise<void> {
      await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, decorateReply: true });
    },
  };
}

export type Dashboard = ReturnType<typeof openDashboard>;

/** Serves the dashboard and the description of this origin. */
export const buildPages = ({ dashboard }: { readonly dashboard: Dashboard }): Domain => ({
  async register({ app, serve }) {
    serveDescription(app, buildDocument(controlOrigin));
    await dashboard.register(app);
    serve(pageContracts)({
      'GET /': async ({ reply }) => dashboard.sendPage(reply),
      // Programs that read no pages get the description itself.
      'GET /v1/docs': async ({ request: { headers }, reply }) =>
        reply.redirect(headers.accept?.includes('text/html') === true ? '/reference' : '/v1/openapi.json', 302),
    });
  },
});

/** Reads the page and the paths of its files, whose names change with their contents. No other path is served. */
function readBuilt(folder: string): { readonly page: string; readonly assets: ReadonlySet<string> } | undefined {
  try {
    const page = readFileSync(join(folder, 'index.html'), 'utf8');
    return { page, assets: new Set(readdirSync(join(folder, 'assets')).map((name) => `/assets/${name}`)) };
  } catch {
    return undefined;
  }
}

/**
 * Allows the dashboard’s own scripts, styles, fonts and images, and connections to both origins. Styles that a script adds
 * need the nonce. Media that a script creates from answers (pictures, speech) have `blob:` URLs.
 */
const policyFor =
  (confidentialOrigin: string) =>
  (nonce: string): string =>
    [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' 'nonce-${nonce}'`,
      "font-src 'self'",
      "img-src 'self' blob:",
      'media-src blob:',
      `connect-src 'self' ${confidentialOrigin}`,
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join('; ');

const notBuilt = `<!doctype html>
<html lang="en">
<title>Sotto</title>
<h1>Sotto is running</h1>
<p>The dashboard is not built here: <code>npm start</code> builds it. Every endpoint: <a href="/v1/openapi.json">/v1/openapi.json</a>.</p>
</html>
`;
