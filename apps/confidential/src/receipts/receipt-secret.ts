import type { IncomingHttpHeaders } from 'node:http';
import { headerNames, nonceSchema, ServiceError } from '@sotto/wire';

const example = 'for example from `openssl rand -hex 32`';

/**
 * Reads the secret in `x-router-receipt`, in lower case. Only a caller that knows it can get the receipt. Undefined if
 * no receipt is asked for; throws if the secret is malformed.
 */
export function readReceiptSecret(headers: IncomingHttpHeaders): string | undefined {
  const header = headers[headerNames.receipt];
  if (header === undefined) return undefined;
  const parsed = nonceSchema.safeParse(header);
  if (parsed.success) return parsed.data;
  throw new ServiceError('invalid_request', {
    message: `The header \`${headerNames.receipt}\` must be exactly 64 hex digits that nobody else knows, ${example}.`,
  });
}
