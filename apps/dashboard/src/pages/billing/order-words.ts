import type { OrderAnswer, RailName } from '@sotto/wire';
import type { Tone } from '../../ui/badge.tsx';

/** Ways to pay as people call them. */
export const railWords: Readonly<Record<RailName, { readonly name: string; readonly text: string }>> = {
  card: { name: 'Card', text: 'At Stripe; we never see the card.' },
  crypto: { name: 'Crypto', text: 'At the operator’s BTCPay Server.' },
  test: { name: 'Test', text: 'Pays at once, without money. For trying out.' },
};

/** States of an order as people call them. */
export const statusWords: Readonly<Record<OrderAnswer['status'], { readonly name: string; readonly tone: Tone }>> = {
  created: { name: 'Opening', tone: 'neutral' },
  pending: { name: 'Waiting for payment', tone: 'info' },
  paid: { name: 'Paid', tone: 'good' },
  failed: { name: 'Failed', tone: 'danger' },
  expired: { name: 'Expired', tone: 'neutral' },
  refunded: { name: 'Refunded', tone: 'warn' },
};
