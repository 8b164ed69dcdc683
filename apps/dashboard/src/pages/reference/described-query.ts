import type { OpenApiDocument } from '@sotto/contract';
import { queryOptions } from '@tanstack/react-query';
import { ApiError } from '../../api/errors.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { type Described, describe } from './described.ts';

const addresses = { broker: confidentialOrigin, control: controlOrigin } as const;

/** What an origin says of itself. Both let every page read it. */
export const describedQuery = (origin: Described['origin']) =>
  queryOptions({
    queryKey: ['described', origin],
    queryFn: async ({ signal }) => {
      const address = addresses[origin];
      const answer = await fetch(`${address}/v1/openapi.json`, { signal }).catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new ApiError(`The ${origin} at ${address} did not answer.`, { type: 'network' });
      });
      if (!answer.ok) throw new ApiError(`The ${origin} answered with ${answer.status}.`, { type: 'network' });
      return describe(origin, address, (await answer.json()) as OpenApiDocument);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
