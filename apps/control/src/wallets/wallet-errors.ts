import { ServiceError } from '@sotto/wire';
import type { ErrorsOf } from '../database/refused.ts';
import type { NotClosed } from './close-wallet.ts';
import type { NoCredit, NotDeposited } from './deposit.ts';
import type { NotPermitted } from './standing-permission.ts';
import type { NotWithdrawn } from './withdraw-credits.ts';

const conflict = (message: string, retryAfterS?: number): ServiceError =>
  new ServiceError('conflict', { message, retryAfterS });
const forbidden = (message: string): ServiceError => new ServiceError('forbidden', { message });
const invalid = (param: string, message: string): ServiceError =>
  new ServiceError('invalid_request', { message: `\`${param}\` ${message}`, param });

export const walletErrors: ErrorsOf<NotWithdrawn | NotClosed | NotDeposited | NoCredit | NotPermitted> = {
  unavailable: () => new ServiceError('service_unavailable'),
  wrong_key: () => invalid('key_id', 'is not the issuer key of this year.'),
  unfit: () => invalid('blinded', 'must be different numbers, above 0 and below the modulus of the key.'),
  no_code: () => forbidden('The code is unknown, used up, expired or revoked. Make another on the billing page.'),
  signed_out: () => new ServiceError('unauthenticated', { message: 'This session has ended. Sign in again.' }),
  disabled: () => forbidden('This account is disabled.'),
  disputed: () => forbidden('A payment of this account is disputed.'),
  limit: () =>
    new ServiceError('top_up_limit', { message: 'The limit of credits for 24 hours is reached. Try again later.' }),
  not_crypto: () =>
    new ServiceError('insufficient_balance', {
      message:
        'A batch costs 5 USD. Only money that was paid by crypto, and that no request has used, can become credits.',
    }),
  unbooked: () => conflict('Requests of this wallet are not booked yet.', 2),
  held: () => new ServiceError('insufficient_balance', { message: 'Running requests hold a part of the balance.' }),
  no_wallet: () => new ServiceError('not_found', { message: 'No wallet has this secret.' }),
  closed: () => conflict('Another batch has closed this wallet. Send that one again for its credits.'),
  no_credit: ({ at }) => invalid(`credits.${at}`, 'is not a credit of this service, or is repeated.'),
  spent: ({ places }) => new ServiceError('credits_spent', { param: places.join(',') }),
  taken: () => conflict('There is a wallet with this key or this secret.'),
  stopped: () => conflict('Deposits of credits of this key have stopped. Ask the operator.'),
};
