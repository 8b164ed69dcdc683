/** What tests of the whole service do in the database. It loads little, because each test file loads it anew. */

export { createAccount } from '../accounts/ensure-account.ts';
export { insertKey } from '../keys/key-store.ts';
export { bookSettlements } from '../ledger/book-settlements.ts';
export { creditAccount } from '../ledger/post-transaction.ts';
export { createPerson } from '../sessions/create-person.ts';
