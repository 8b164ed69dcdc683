import { describe, expect, it } from 'vitest';
import { readBillingSettings } from './billing-settings.ts';

const stripe = { STRIPE_SECRET_KEY: 'sk_test_12345678', STRIPE_WEBHOOK_SECRET: 'whsec_12345678' };
const btcpay = {
  BTCPAY_URL: 'https://pay.example.com/',
  BTCPAY_API_KEY: 'api-key-12345678',
  BTCPAY_STORE_ID: 'store',
  BTCPAY_WEBHOOK_SECRET: 'secret-12345678',
};
const read = (environment: Record<string, string>, testRail: 'on' | 'off' = 'off') =>
  readBillingSettings(environment, { testRail });
const message = (environment: Record<string, string>): string | undefined => {
  const settings = read(environment);
  return settings.ok ? undefined : settings.message;
};

describe('billing settings', () => {
  it('switch every rail off if nothing is set', () => {
    expect(read({})).toMatchObject({
      ok: true,
      settings: { rails: { stripe: undefined, btcpay: undefined, test: false } },
    });
  });

  it('switch the test rail on by default only if the caller says so', () => {
    expect(read({}, 'on')).toMatchObject({ settings: { rails: { test: true } } });
    expect(read({ BILLING_TEST_RAIL: 'off' }, 'on')).toMatchObject({ settings: { rails: { test: false } } });
    expect(read({ BILLING_TEST_RAIL: 'on' })).toMatchObject({ settings: { rails: { test: true } } });
  });

  it('read both services', () => {
    expect(read({ ...stripe, ...btcpay, STRIPE_API_URL: 'http://127.0.0.1:9999' })).toMatchObject({
      settings: {
        rails: {
          stripe: { apiUrl: 'http://127.0.0.1:9999' },
          btcpay: { url: 'https://pay.example.com', storeId: 'store' },
        },
      },
    });
  });

  it('give a monthly grant instead of selling balance', () => {
    expect(read({}, 'on')).toMatchObject({ settings: { monthlyGrantNusd: undefined } });
    expect(read({ BILLING: 'none', MONTHLY_GRANT_USD: '12.5' }, 'on')).toMatchObject({
      settings: { monthlyGrantNusd: 12_500_000_000n, rails: { test: false } },
    });
    expect(read({ BILLING: 'none' })).toMatchObject({ settings: { monthlyGrantNusd: 0n } });
  });

  it.each([
    [
      { STRIPE_SECRET_KEY: stripe.STRIPE_SECRET_KEY },
      'STRIPE_WEBHOOK_SECRET is not set: payment by cards needs it beside STRIPE_SECRET_KEY',
    ],
    [
      { STRIPE_WEBHOOK_SECRET: stripe.STRIPE_WEBHOOK_SECRET },
      'STRIPE_SECRET_KEY is not set: payment by cards needs it beside STRIPE_WEBHOOK_SECRET',
    ],
    [
      { STRIPE_API_URL: 'https://stripe.example' },
      'STRIPE_SECRET_KEY is not set: payment by cards needs it beside STRIPE_API_URL',
    ],
    [{ ...btcpay, BTCPAY_STORE_ID: '' }, 'BTCPAY_STORE_ID is not set: payment by crypto needs it beside BTCPAY_URL'],
    [
      { ...btcpay, BTCPAY_WEBHOOK_SECRET: '' },
      'BTCPAY_WEBHOOK_SECRET is not set: payment by crypto needs it beside BTCPAY_URL',
    ],
    [{ BILLING: 'free' }, 'BILLING is `free`: it takes prepaid or none'],
    [
      { BILLING: 'none', ...stripe },
      'STRIPE_SECRET_KEY is set, but BILLING is `none`: remove the way to pay, or set BILLING to prepaid',
    ],
    [
      { BILLING: 'none', ...btcpay },
      'BTCPAY_URL is set, but BILLING is `none`: remove the way to pay, or set BILLING to prepaid',
    ],
    [
      { BILLING: 'none', BILLING_TEST_RAIL: 'on' },
      'BILLING_TEST_RAIL is `on`, but BILLING is `none`: remove the way to pay, or set BILLING to prepaid',
    ],
    [
      { MONTHLY_GRANT_USD: '5' },
      'MONTHLY_GRANT_USD is set, but BILLING is `prepaid`: set BILLING to none, or remove MONTHLY_GRANT_USD',
    ],
    [
      { BILLING: 'none', MONTHLY_GRANT_USD: '-1' },
      'MONTHLY_GRANT_USD is `-1`: it takes an amount in USD from 0 to 9007199.254740991, with at most nine decimals',
    ],
    [
      { BILLING: 'none', MONTHLY_GRANT_USD: '9007200' },
      'MONTHLY_GRANT_USD is `9007200`: it takes an amount in USD from 0 to 9007199.254740991, with at most nine decimals',
    ],
    [{ BILLING_TEST_RAIL: 'yes' }, 'BILLING_TEST_RAIL is `yes`: it takes on or off'],
    [
      { ...btcpay, BTCPAY_URL: 'http://pay.example.com' },
      'BTCPAY_URL has a value that cannot be used: it takes an https URL; plain http on loopback only',
    ],
    [
      { ...stripe, STRIPE_API_URL: 'http://10.0.0.1' },
      'STRIPE_API_URL has a value that cannot be used: it takes an https URL; plain http on loopback only',
    ],
  ])('refuse %j and name the variable', (environment, line) => {
    expect(message(environment)).toBe(line);
  });
});
