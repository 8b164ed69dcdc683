import type { standInEnclave } from '@sotto/client/testing';

type StandInKey = ReturnType<ReturnType<typeof standInEnclave>['nextKey']>;

/** A stand-in's key, with what only Chutes' have. */
export type EnclaveKey = Pick<StandInKey, 'publicKey'> & { readonly instanceId?: string; readonly nonce?: string };
