import type { PhalaKey } from '../enclave-key.ts';
import type { E2eeFamily } from '../family.ts';
import { sealForGateway } from './gateway.ts';
import { sealForVllmProxy } from './vllm-proxy.ts';

/** Phala and redpill: the gateway's E2EE v2 where the attested key set offers it, else that of dstack-vllm-proxy. */
export const phalaFamily: E2eeFamily<PhalaKey> = {
  seal: ({ key, ...input }) =>
    key.protocol === 'aci' ? sealForGateway({ key, ...input }) : sealForVllmProxy({ key, ...input }),
};
