import type { OriginDescription } from '../route.ts';
import { serviceRoutes } from '../service.ts';
import { attestationRoutes, inferenceRoutes } from './inference.ts';

/** The confidential API origin: content and evidence. */
export const confidentialOrigin: OriginDescription = {
  title: 'Sotto: confidential origin',
  description:
    'Sees content, and never learns whose it is (in compatibility mode it sees the hash of a key). Tickets, catalog, account and billing belong to the control origin, which has a description of its own.\n\nBeside what each route names: an unknown address is 404 `not_found`, a method that it does not take 405 `method_not_allowed`, a request that does not arrive in time 408 `request_timeout`, and too many headers are 431 `header_fields_too_large`, all in the same envelope.',
  tags: [
    { name: 'Inference', description: 'Content, by ticket or in compatibility mode.' },
    { name: 'Attestation', description: 'Evidence of what runs here, and in providers’ enclaves.' },
    { name: 'Service', description: 'Health, and this description.' },
  ],
  routes: [...inferenceRoutes, ...attestationRoutes, ...serviceRoutes],
};
