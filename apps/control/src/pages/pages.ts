import { buildDocument, type pageContracts, pathOf } from '@sotto/contract';
import { controlOrigin } from '@sotto/contract/control';
import { registerOpenApi } from '@sotto/server';
import type { Domain } from '../domain.ts';
import type { Dashboard } from './dashboard.ts';

/** Serves the dashboard and the description of this origin. */
export const buildPages = ({ dashboard }: { readonly dashboard: Dashboard }): Domain => ({
  async register({ app }) {
    registerOpenApi(app, buildDocument(controlOrigin));
    app.get(pathOf<typeof pageContracts>('GET /v1/docs'), async (_request, reply) => reply.redirect('/reference', 302));
    await dashboard.register(app);
  },
});
