import { randomId } from './random-id.ts';

/** An independent random id for one request; it joins with nothing else. */
export const requestId = (): string => `req_${randomId(12)}`;
