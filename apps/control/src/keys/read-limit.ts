import { type Nusd, usdToNusd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';

/** Converts a limit from USD to nano-USD. Null is no limit, undefined stays. Throws `invalid_request`. */
export function readLimit(usd: number | null | undefined): Nusd | null | undefined {
  if (usd == null) return usd;
  const nusd = usdToNusd(usd);
  if (nusd === undefined) {
    throw new ServiceError('invalid_request', {
      message: '`credit_limit_usd` takes at most nine decimals.',
      param: 'credit_limit_usd',
    });
  }
  return nusd;
}
