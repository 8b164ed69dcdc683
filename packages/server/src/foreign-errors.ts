import { ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import { type ErrorTrace, traceOf } from './error-trace.ts';
import { unsupportedType } from './unsupported-body.ts';

const frameworkErrors: Readonly<Record<string, (request: FastifyRequest) => ServiceError>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ({ headers }) => unsupportedType(headers),
  FST_ERR_BAD_URL: () => new ServiceError('invalid_request', { message: 'The URL is malformed.' }),
  FST_ERR_MAX_PARAM_LENGTH: () => new ServiceError('not_found'),
  FST_ERR_ASYNC_CONSTRAINT: () => new ServiceError('invalid_request'),
  ERR_HTTP_REQUEST_TIMEOUT: () => new ServiceError('request_timeout'),
};

interface ForeignErrors {
  /** Returns the public error for an expected foreign one. */
  readonly translate?: ((error: unknown) => ServiceError | undefined) | undefined;
  /** Called with every unexpected error. */
  readonly onUnexpected: (error: ErrorTrace, requestId: string) => void;
}

/** Returns the public error for whatever a handler threw. */
export function toServiceError(error: unknown, options: ForeignErrors, request: FastifyRequest): ServiceError {
  if (error instanceof ServiceError) return error;
  const known = error instanceof Error && 'code' in error ? frameworkErrors[String(error.code)] : undefined;
  if (known !== undefined) return known(request);
  const translated = options.translate?.(error);
  if (translated !== undefined) return translated;
  options.onUnexpected(traceOf(error), request.id);
  return new ServiceError('internal_error', { mustNotRetry: true });
}
