import { addresses, count, file, onOff } from '../kinds.ts';
import { controlAndBroker, controlAndStart } from '../row.ts';

/** What a deployment offers. */
export const featureRows = [
  controlAndBroker('IMAGE_GENERATION', 'features.image_generation', {
    kind: onOff,
    default: 'off',
    describe: 'Enables image generation. Set it on control and the broker.',
    start: { default: 'on' },
  }),
  controlAndBroker('SPEECH_SYNTHESIS', 'features.speech_synthesis', {
    kind: onOff,
    default: 'off',
    describe: 'Enables speech synthesis. Set it on control and the broker.',
    start: { default: 'on' },
  }),
  controlAndStart('CONNECTED_APPS', 'features.connected_apps', {
    kind: onOff,
    default: 'off',
    describe: 'Lets apps connect to accounts by OAuth, under `/v1/connect`.',
  }),
  controlAndStart('ANONYMOUS_WALLETS', 'features.anonymous_wallets', {
    kind: onOff,
    default: 'off',
    describe: 'Lets blind credits, and crypto, pay for wallets that no account is linked to. Needs `CREDIT_KEYS_FILE`.',
  }),
  controlAndStart('CREDIT_KEYS_FILE', 'billing.credit_keys_file', {
    kind: file,
    describe: 'The issuer of credits and its key of each year, as YAML. Only control has it.',
  }),
  controlAndStart('WEBHOOK_NETWORKS', 'webhooks.networks', {
    kind: addresses,
    describe: 'Private addresses and networks that webhooks of workspaces may reach, besides public addresses.',
  }),
  controlAndStart('TICKET_TTL_S', 'limits.ticket_ttl_s', {
    kind: count('a number of seconds from 1 to 3600', 3600),
    default: 300,
    describe: 'Seconds until an unused ticket expires.',
  }),
  controlAndStart('USAGE_RETENTION_MONTHS', 'data.usage_retention_months', {
    kind: count('a number of months from 1 to 1200', 1200),
    describe:
      'Whole UTC months, besides the present one, for which the usage of single requests is kept. Sums by day and the ledger stay. The default keeps everything.',
  }),
];
