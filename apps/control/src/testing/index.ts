/** What tests of the whole service do in the database, and parts of control that tests use without the whole. */

export { createAccount } from '../accounts/ensure-account.ts';
export { billingFileSchema, parseBilling } from '../billing/billing-plan.ts';
export { BtcpayClient } from '../billing/rails/btcpay-client.ts';
export { btcpayWebhook } from '../billing/rails/btcpay-webhook.ts';
export { type Delivery, RailUnavailableError } from '../billing/rails/rail.ts';
export { stripeWebhook } from '../billing/rails/stripe-webhook.ts';
export { examineOrigin } from '../doctor/origins.ts';
export { insertKey } from '../keys/key-store.ts';
export { bookSettlements } from '../ledger/book-settlements.ts';
export { creditAccount } from '../ledger/post-transaction.ts';
export { readCursor } from '../serve/page-cursor.ts';
export { sessionTokensOf } from '../sessions/cookies.ts';
export { createPerson } from '../sessions/create-person.ts';
export { askBroker } from '../tickets/ask-broker.ts';
