import { createHash } from 'node:crypto';
import {
  buildDocument,
  type pageContracts,
  pathOf,
  referencePage,
  referenceStyle,
  type ShownOrigin,
} from '@sotto/contract';
import { confidentialOrigin } from '@sotto/contract/confidential';
import { controlOrigin } from '@sotto/contract/control';
import { registerOpenApi } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import type { Domain } from '../domain.ts';
import type { Dashboard } from './dashboard.ts';

export interface PagesDependencies {
  readonly dashboard: Dashboard;
  /** The public control origin. */
  readonly origin: string;
  /** The broker’s public origin. */
  readonly confidentialOrigin: string;
}

/** Serves the dashboard, and the reference of both origins for programs and for people. */
export const buildPages = (deps: PagesDependencies): Domain => ({
  async register({ app }) {
    const document = buildDocument(controlOrigin);
    registerOpenApi(app, document);
    registerReference(app, [
      { document, address: deps.origin },
      { document: buildDocument(confidentialOrigin), address: deps.confidentialOrigin },
    ]);
    await deps.dashboard.register(app);
  },
});

/**
 * Registers `GET /v1/docs`, the readable reference of both origins. The page is rendered once. Its policy allows only
 * its one style.
 */
function registerReference(app: FastifyInstance, origins: readonly ShownOrigin[]): void {
  const page = referencePage(origins);
  const style = createHash('sha256').update(referenceStyle).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'`;
  app.get(pathOf<typeof pageContracts>('GET /v1/docs'), async (_request, reply) => {
    reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-cache');
    return page;
  });
}
