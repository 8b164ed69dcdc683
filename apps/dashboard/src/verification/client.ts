import type { ClientError, ClientPins, OriginVerification } from '@sotto/client';
import { queryOptions } from '@tanstack/react-query';
import { ApiError } from '../api/errors.ts';
import { confidentialOrigin } from '../api/origins.ts';
import { makeTabState } from '../session/tab-state.ts';

/** Loads the verifying client, which the first page does not need. */
export const loadClient = () => import('@sotto/client');

/** Verifies this deployment's confidential origin in this browser. `pins` default to those of the build. */
export const gatewayVerificationQuery = (pins: ClientPins | undefined) =>
  queryOptions({
    queryKey: ['gateway-verification', pins ?? 'of this build'],
    queryFn: async ({ signal }): Promise<OriginVerification> => {
      const { verify } = await loadClient();
      const options = { signal, ...(pins === undefined ? {} : { pins }) };
      return (await verify(confidentialOrigin, options).catch(throwShown)).gateway;
    },
    staleTime: 5 * 60_000,
    retry: false,
  });

const isClientError = (error: unknown): error is ClientError =>
  error instanceof Error && error.name === 'ClientError' && 'code' in error;

/** Turns an error of the client into one that pages show; returns any other error as it is. */
export function shownError(error: unknown): unknown {
  if (!isClientError(error)) return error;
  return new ApiError(error.message, { type: error.code, param: error.param });
}

export const throwShown = (error: unknown): never => {
  throw shownError(error);
};

/** Measurements that the user typed to accept them in this tab instead of those of the build. */
export const ownPins = makeTabState<ClientPins | undefined>(undefined);
