import { nusdToUsd } from '@sotto/money';
import { ServiceError } from '@sotto/wire';
import type { ErrorsOf } from '../../database/refused.ts';
import type { WalletNotOrdered } from './order-wallet.ts';
import type { NotPlaced } from './place-order.ts';

const overLimit = (message: string): ServiceError => new ServiceError('top_up_limit', { message, param: 'package_id' });

const quoted = (names: readonly string[]): string[] => names.map((name) => `\`${name}\``);

export const orderErrors: ErrorsOf<NotPlaced | WalletNotOrdered> = {
  no_package: ({ packages }) =>
    new ServiceError('invalid_request', {
      message: `\`package_id\` must be ${quoted(packages).join(' or ')}.`,
      param: 'package_id',
    }),
  rail_off: ({ rail, enabled }) => {
    const others =
      enabled.length === 0 ? 'No way to pay is switched on.' : `These are on: ${quoted(enabled).join(', ')}.`;
    return new ServiceError('rail_disabled', {
      message: `Payment by \`${rail}\` is switched off on this deployment. ${others}`,
      param: 'rail',
    });
  },
  rail_refused: () => new ServiceError('rail_error', { mustNotRetry: true }),
  other_order: ({ orderId }) =>
    new ServiceError('conflict', {
      message: `\`form_id\` belongs to order \`${orderId}\`, which asks for something else. Make a new one for each order.`,
      param: 'form_id',
    }),
  deleted: () => new ServiceError('conflict', { message: 'This account was deleted.' }),
  open_orders: ({ count }) =>
    overLimit(`There are ${count} open orders already. Pay one of them, or wait until one expires.`),
  a_day: ({ mostNusd }) => overLimit(`At most ${nusdToUsd(mostNusd)} USD can be ordered in 24 hours.`),
  balance: ({ mostNusd }) =>
    overLimit(`A balance, with open orders, can be topped up to at most ${nusdToUsd(mostNusd)} USD.`),
  taken: () =>
    new ServiceError('conflict', { message: 'There is another wallet or order with this key or this secret.' }),
  many: () =>
    new ServiceError('rate_limited', {
      message: 'Too many wallets are being ordered on this deployment. Try again in a minute.',
      retryAfterS: 60,
    }),
};
