import { type Nusd, usdToNusd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';

/** Converts an amount of a request from USD to nano-USD. Throws `invalid_request` for one that the ledger cannot hold. */
export function readUsd(param: string, usd: number): Nusd {
  const nusd = usdToNusd(usd);
  if (nusd !== undefined) return nusd;
  const message = `\`${param}\` is ${usd}; it takes at most nine decimals.`;
  throw new ServiceError('invalid_request', { message, param });
}
