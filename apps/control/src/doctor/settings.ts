import type { ControlConfig } from '../config.ts';
import { type Finding, ok, warning } from './check.ts';

/** What works, and is still not how a service should stand in the open. */
export function examineSettings(config: ControlConfig): Finding[] {
  const { origin, confidentialOrigin, isProduction, trustProxy, signIn, metricsPort } = config;
  const isPublic = !['127.0.0.1', '[::1]', 'localhost'].includes(new URL(origin).hostname);
  const remarks: Finding[] = [];
  const remark = (found: string, advice: string): void => void remarks.push(warning('settings', found, advice));
  if (isPublic && !isProduction) {
    remark(
      'NODE_ENV is not production',
      'Set NODE_ENV=production on both planes: then a Redis that may forget money is not ready.',
    );
  }
  if (isPublic && [origin, confidentialOrigin].some((one) => one.startsWith('http:'))) {
    remark('an origin begins with http:', 'Put TLS before control, and give both origins with https.');
  }
  if (isPublic && trustProxy === false) {
    remark(
      'TRUST_PROXY is off',
      'Say how many proxies stand before control: limits by address count the last of them otherwise.',
    );
  }
  if (isPublic && signIn.smtp === undefined) {
    remark(
      'SMTP_URL is not set',
      'Give SMTP_URL and MAIL_FROM: addresses are not verified, and no password can be reset.',
    );
  }
  if (isPublic && metricsPort === undefined) {
    remark('METRICS_PORT is off', 'Set it, and let Prometheus read it: docs/guides/operate.md.');
  }
  return remarks.length > 0 ? remarks : [ok('settings', 'nothing to remark')];
}
