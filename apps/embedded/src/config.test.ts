import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readBillingSettings } from '@sotto/control';
import { expect, it } from 'vitest';
import { readConfig } from './config.ts';

const attestationOf = (environment: Record<string, string>): string => {
  const read = readConfig(environment, '/project');
  return read.ok ? read.settings.ATTESTATION : read.message;
};

it('simulates evidence in development, and never in production', () => {
  expect(attestationOf({})).toBe('auto');
  expect(attestationOf({ ATTESTATION: 'simulated' })).toBe('simulated');
  expect(attestationOf({ NODE_ENV: 'production' })).toBe('off');
  expect(attestationOf({ NODE_ENV: 'production', ATTESTATION: 'dstack' })).toBe('dstack');
  expect(attestationOf({ NODE_ENV: 'production', ATTESTATION: 'simulated' })).toMatch(/^ATTESTATION is `simulated`/);
});

it('enables the test rail only where balance is sold and there is no other way to pay', () => {
  const testRail = (environment: Record<string, string>): unknown => {
    const read = readConfig(environment, '/project');
    if (!read.ok) return read.message;
    const { BILLING_TEST_RAIL } = read.settings;
    const billing = readBillingSettings({ ...environment, BILLING_TEST_RAIL }, { testRail: 'off' });
    return [billing.ok && billing.settings.rails.test, BILLING_TEST_RAIL];
  };
  const btcpay = {
    BTCPAY_URL: 'https://pay.example.com',
    BTCPAY_API_KEY: 'api-key-12345678',
    BTCPAY_STORE_ID: 'store',
  };
  expect(testRail({})).toEqual([true, 'on']);
  expect(testRail({ ...btcpay, BTCPAY_WEBHOOK_SECRET: 'secret-12345678' })).toEqual([false, 'off']);
  expect(testRail({ BILLING: 'none', MONTHLY_GRANT_USD: '20' })).toEqual([false, 'off']);
});

it('refuses metrics on the last port if the broker needs the one after it', () => {
  const last = { METRICS_PORT: '65535' };
  expect(readConfig(last, '/project').ok).toBe(true);
  expect(readConfig({ ...last, REDIS_URL: 'redis://127.0.0.1:6379' }, '/project')).toEqual({
    ok: false,
    message: 'METRICS_PORT is `65535`: with REDIS_URL, the broker uses the port after it. Use a lower one',
  });
});

it.runIf(process.platform === 'linux')('LOG_FORMAT=json: a log that cannot be written ends nothing', () => {
  const full = openSync('/dev/full', 'w');
  const log = JSON.stringify(new URL('./log.ts', import.meta.url).href);
  const script = `
    const { openLog } = await import(${log});
    const log = openLog('json', 'info');
    for (let line = 0; line < 3; line += 1) {
      log.info('draining');
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    process.stderr.write('drained');`;
  const flags = ['--conditions=@sotto/source', '--disable-warning=ExperimentalWarning', '--input-type=module'];
  const { status, stderr } = spawnSync(process.execPath, [...flags, '-e', script], { stdio: ['ignore', full, 'pipe'] });
  closeSync(full);
  expect([status, stderr.toString()]).toEqual([0, 'drained']);
});
