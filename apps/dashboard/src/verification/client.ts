import type { ClientError, ClientPins, OriginVerification } from '@sotto/client';
import { queryOptions } from '@tanstack/react-query';
import { ApiError } from '../api/call.ts';
import { confidentialOrigin } from '../api/origins.ts';

/** The verifying client, loaded when something is first verified or sent. */
export const loadClient = () => import('@sotto/client');

/** A fresh verification of this deployment's confidential origin, made in this browser. `pins`: else those of the build. */
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

/** What the client found, as an error that pages show; what is no such failure stays what it is. */
export function shownError(error: unknown): unknown {
  if (!isClientError(error)) return error;
  return new ApiError(error.message, {
    type: error.code,
    status: 0,
    requestId: undefined,
    param: error.param,
    retryAfterS: undefined,
  });
}

const throwShown = (error: unknown): never => {
  throw shownError(error);
};
