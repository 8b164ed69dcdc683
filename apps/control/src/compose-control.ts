import { required } from '@sotto/server';
import { readBillingPlan } from './billing/billing-settings.ts';
import type { ControlConfig } from './config.ts';
import { smtpMail } from './mail/smtp-mail.ts';
import type { ControlOptions } from './parts.ts';
import { readIssuer } from './wallets/issuer.ts';
import { buildControl, type Control } from './wiring.ts';

/** Builds the control that its settings describe, with the files that they name. Throws a `StartError`. `mailer` is for a deployment without SMTP_URL. */
export async function composeControl(
  config: ControlConfig,
  parts: Omit<ControlOptions, 'config' | 'plan' | 'issuer'>,
): Promise<Control> {
  const plan = required(await readBillingPlan(config.billing.file));
  const { creditKeysFile } = config;
  const issuer = creditKeysFile === undefined ? undefined : required(await readIssuer(creditKeysFile));
  const { smtp } = config.signIn;
  const mailer = smtp === undefined ? parts.mailer : smtpMail(smtp);
  return buildControl({ ...parts, config, plan, issuer, mailer });
}
