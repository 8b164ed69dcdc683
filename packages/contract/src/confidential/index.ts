import * as evidence from '@sotto/attestation/documents';
import * as wire from '@sotto/wire';
import { describeAsStated } from '../describe-routes.ts';
import * as receipt from '../provider-receipt.ts';
import type { OriginDescription } from '../route.ts';
import * as service from '../service.ts';
import * as attestation from './attestation.ts';
import * as inference from './inference.ts';
import * as models from './models.ts';
import * as receipts from './receipts.ts';

export type ConfidentialContracts = typeof inference.chatContracts &
  typeof inference.operationContracts &
  typeof models.modelContracts &
  typeof receipts.receiptContracts &
  typeof attestation.gatewayContracts &
  typeof attestation.teeContracts &
  typeof service.serviceContracts;

/** The confidential API origin: content and evidence. */
export const confidentialOrigin: OriginDescription = {
  title: 'Sotto: confidential origin',
  description:
    'Receives content and never learns whose it is. In compatibility mode it sees the hash of a key. Tickets, catalog, account and billing are at the control origin, which has its own description.\n\nEvery route can also answer with the errors `not_found` (404), `method_not_allowed` (405), `request_timeout` (408), `expectation_failed` (417) and `header_fields_too_large` (431).',
  tags: [
    { name: 'Inference', description: 'Requests with content, by ticket or in compatibility mode.' },
    { name: 'Attestation', description: 'Evidence about this broker and about the enclaves of providers.' },
    { name: 'Service', description: 'Health and this description.' },
  ],
  schemas: [wire, evidence, receipt, service, inference, models, receipts, attestation],
  routes: [
    ...describeAsStated('Inference', inference.chatContracts),
    ...describeAsStated('Inference', inference.operationContracts),
    ...describeAsStated('Inference', models.modelContracts),
    ...describeAsStated('Inference', receipts.receiptContracts),
    ...describeAsStated('Attestation', attestation.gatewayContracts),
    ...describeAsStated('Attestation', attestation.teeContracts),
    ...describeAsStated('Service', service.serviceContracts),
  ],
};
