import type { ProviderFamily } from '@sotto/attestation';
import type { standInEnclave } from '@sotto/client/testing';

/** Stand-ins for the providers whose models run in enclaves, one for every form of evidence. */
export const enclaveKinds = ['near', 'phala-aci', 'phala-vllm-proxy', 'venice', 'tinfoil', 'chutes'] as const;
export type EnclaveKind = (typeof enclaveKinds)[number];

export const familyOf = (kind: EnclaveKind): ProviderFamily =>
  kind === 'phala-aci' || kind === 'phala-vllm-proxy' ? 'phala' : kind;

type StandInKey = ReturnType<ReturnType<typeof standInEnclave>['nextKey']>;

/** A stand-in's key, with the fields that only Chutes has. */
export type EnclaveKey = Pick<StandInKey, 'publicKey'> & { readonly instanceId?: string; readonly nonce?: string };
