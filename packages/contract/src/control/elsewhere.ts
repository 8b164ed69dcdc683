import { anywhere } from '../errors.ts';
import type { RouteDescription } from '../route.ts';

const tag = 'Tickets and evidence';

/** Routes that are here to say where to go. */
export const elsewhereRoutes: readonly RouteDescription[] = [
  {
    method: 'post',
    path: '/v1/tee/attestation',
    operationId: 'refuseProviderEvidenceByTicket',
    tag,
    summary: 'Not here',
    description: 'Always 404, and says where to go: by ticket, evidence is given at the confidential origin.',
    credentials: [],
    answers: [],
    errors: [...anywhere, 'not_found'],
    isOpenToPages: true,
  },
];
