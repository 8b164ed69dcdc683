export { createAccount } from './accounts/ensure-account.ts';
export {
  type BillingSettings,
  billingVariables,
  builtInBilling,
  environmentSchema as billingSchema,
  readBillingPlan,
  readBillingSettings,
} from './billing/billing-settings.ts';
export { builtInCatalog } from './catalog/catalog-keeper.ts';
export { runCli } from './cli/cli.ts';
export { keepMemoryOutOfDumps } from './cli/serve.ts';
export { readConfig } from './config.ts';
export { openDatabase } from './database/database.ts';
export { migrateDatabase } from './database/migrate.ts';
export { insertKey } from './keys/key-store.ts';
export { type BookingResult, bookSettlements } from './ledger/book-settlements.ts';
export { creditAccount } from './ledger/post-transaction.ts';
export type { AttributedSettlement } from './ledger/record-usage.ts';
export { maximumSettings, maximumVariables, readMaxima } from './limits/maximum-settings.ts';
export { printMail } from './mail/mail.ts';
export { smtpMail } from './mail/smtp-mail.ts';
export { ControlMetrics } from './metrics/control-metrics.ts';
export { auditPage } from './money-audit/audit-state.ts';
export type { ControlOptions } from './parts.ts';
export { Projector } from './projection/projector.ts';
export { createPerson, setPassword } from './sessions/create-person.ts';
export {
  environmentSchema as signInSchema,
  readSignInSettings,
  type SignInSettings,
  signInVariables,
} from './sessions/sign-in-settings.ts';
export { Settler } from './settler/settler.ts';
export { purgeExpired } from './sign-in/sign-in.ts';
export { readCreditKeysFile, readIssuer, walletSettings } from './wallets/issuer.ts';
export { buildControl, type Control } from './wiring.ts';
