export { createAccount, ensureAccount } from './accounts/ensure-account.ts';
export { auditPage } from './audit/audit-state.ts';
export {
  type BillingSettings,
  billingVariables,
  readBillingPlan,
  readBillingSettings,
} from './billing/billing-settings.ts';
export { builtInBilling } from './billing/built-in-billing.ts';
export { builtInCatalog } from './catalog/built-in-catalog.ts';
export { runCli } from './cli/cli.ts';
export { keepMemoryOutOfDumps } from './cli/core-dumps.ts';
export { readConfig } from './config.ts';
export { migrateDatabase, openDatabase } from './database/database.ts';
export { insertKey } from './keys/key-store.ts';
export type { AttributedSettlement } from './ledger/attributed-settlement.ts';
export { type BookingResult, bookSettlements } from './ledger/book-settlements.ts';
export { creditAccount } from './ledger/post-transaction.ts';
export type { SettlementLedger } from './ledger/settlement-ledger.ts';
export { printMail } from './mail/mail.ts';
export { smtpMail } from './mail/smtp-mail.ts';
export { ControlMetrics } from './metrics/control-metrics.ts';
export { Projector } from './projection/projector.ts';
export { purgeExpired } from './sessions/purge.ts';
export { readSignInSettings, type SignInSettings, signInVariables } from './sessions/sign-in-settings.ts';
export { Settler } from './settler/settler.ts';
export { buildControl, type Control, type ControlOptions } from './wiring.ts';
