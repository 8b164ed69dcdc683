import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readPins } from '@sotto/client';
import { isReceipt, judgeReceipt, readBill, readPrices, readReceiptCharge, verifyCharge } from '@sotto/client/testing';
import { readConfig as readControlConfig } from '@sotto/control';
import { parseBilling, readCursor } from '@sotto/control/testing';
import { readConfig as readEmbeddedConfig } from '@sotto/embedded';
import { FileError, parsePins, parseSecrets } from '@sotto/keeper/testing';
import { importModels, parseCatalog, parseRegistry, publicRegistry } from '@sotto/router';
import { readBrokerConfig, readSettings, settingsSchemas } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import { bytesOf, type FuzzTarget, jsonBytes, jsonOf, promise } from '../engine/target.ts';

const root = join(import.meta.dirname, '../../..');
const registryText = `providers:
  - id: acme
    name: Acme
    adapter: openai
    base_url: https://api.acme.example/v1
    api_key_env: ACME_API_KEY
    privacy_class: private
    models: [{match: "llama-*", privacy_class: private}]
    listed: true
    timeouts: {connect_ms: 5000, first_byte_ms: 30000, idle_ms: 60000, total_ms: 600000}
  - id: acme/eu
    name: Acme EU
    adapter: bedrock
    base_url: http://127.0.0.1:9/x
    privacy_class: tee
    attestation: {family: near, measurements: ["aa"]}
`;
const catalogText = `models:
  - id: acme/small
    name: Small
    model_type: text
    context_length: 131072
    max_output_tokens: 16384
    routes:
      - provider: acme
        upstream_model: small-v1
        privacy_class: private
        pricing: {input: 0.5, output: 1.5, cached_input: 0.05, tiers: [{above_prompt_tokens: 1000, input: 1, output: 2}]}
        capabilities: {tools: true, vision: false, structured_output: true, reasoning: {efforts: [low], can_disable: true}}
  - id: acme/paint
    model_type: image
    routes: [{provider: acme, upstream_model: paint-1, privacy_class: anonymous, pricing: {image: 0.04}}]
`;
const parsedRegistry = parseRegistry(registryText, 'd');
if (!parsedRegistry.ok) throw new Error(`the registry of the fuzzer: ${JSON.stringify(parsedRegistry.problems)}`);
const publicHalf = publicRegistry(parsedRegistry.value, () => true);
const billingText = readFileSync(join(root, 'apps/control/billing.yaml'));
const yamlWords = [
  '&a',
  '*a',
  '<<: ',
  '!!js/function',
  '!!binary ',
  '%YAML 1.1\n---\n',
  '|\n',
  '>-\n',
  '- ',
  ': ',
  '? ',
  '{',
  '}',
  '---\n',
  '...\n',
  '\t',
  '# ',
  '1_000',
  '0x1f',
  '.inf',
  '.nan',
  'yes',
  '~',
];

/** Checks that each problem has a line number and a message. */
const wellTold = (
  read: { readonly ok: boolean; readonly problems?: readonly { readonly line: number; readonly message: string }[] },
  input: Buffer,
): void => {
  if (read.ok) return;
  const lines = input.toString('utf8').split('\n').length;
  promise((read.problems?.length ?? 0) > 0, 'a file that is rejected without a reason');
  for (const { line, message } of read.problems ?? [])
    promise(line >= 1 && line <= lines + 1 && message !== '', `line ${line} of ${lines}: ${message}`);
};

const prices = {
  object: 'list',
  data: [
    { id: 'a/b', provider_routes: [{ provider: 'acme', privacy_class: 'private', pricing: { input: 1, output: 2 } }] },
  ],
};
const bill = {
  data: [
    {
      id: 'u1',
      operation: 'chat',
      model: 'a/b',
      provider: 'acme',
      privacy_class: 'private',
      prompt_tokens: 10,
      cached_tokens: 1,
      completion_tokens: 5,
      reasoning_tokens: 0,
      cost: 0.00002,
      estimated: false,
    },
  ],
  next_cursor: null,
};
const answer = {
  id: 'c',
  model: 'a/b',
  usage: { prompt_tokens: 10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1 }, cost: 0.00002 },
};

const environment = [
  'HOST=127.0.0.1',
  'CONTROL_PORT=4000',
  'CONFIDENTIAL_PORT=4001',
  'REDIS_URL=redis://h:6379',
  'DATABASE_URL=postgresql://u@h/d',
  'CONFIDENTIAL_TLS=off',
  'TRUST_PROXY=2',
  `TICKET_SEALING_KEY=${'A'.repeat(43)}=`,
  `ACCOUNT_REF_KEY=${'B'.repeat(43)}=`,
  `SETTLEMENT_MAC_KEY=${'ab'.repeat(32)}`,
  `SESSION_SECRET=${'s'.repeat(32)}`,
  'CONTROL_ORIGIN=https://a.example',
  'ATTESTATION=off',
  'METRICS_PORT=9',
  'SMTP_URL=smtp://u:p@h:587',
  'MAIL_FROM=a@b.example',
  'OIDC_ISSUER=https://i.example',
  'STRIPE_SECRET_KEY=sk_x',
  'STRIPE_WEBHOOK_SECRET=whsec_x',
  'TICKET_TTL_S=300',
  'LOG_LEVEL=info',
].join('\n');

function readEnvironment(input: Buffer): void {
  const given = Object.fromEntries(
    input
      .toString('utf8')
      .split('\n')
      .map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
  for (const read of [
    readBrokerConfig(given),
    readControlConfig(given),
    readEmbeddedConfig(given, '/x'),
    readSettings(settingsSchemas.keeper, given),
  ]) {
    if (!read.ok) promise(read.message !== '' && !read.message.includes('\n'), `more than one line: ${read.message}`);
  }
}

/** Checks that a rejection is one line, so that a log can hold it. */
function refusesInOneLine(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    promise(error.message !== '' && !error.message.includes('\n'), `more than one line: ${error.message}`);
  }
}

/** All readers of files, settings and bills. */
export const fileTargets: readonly FuzzTarget[] = [
  {
    name: 'catalog-file',
    grammar: 'text',
    share: 1,
    words: [...yamlWords, 'pricing', 'routes', 'reasoning', 'tiers'],
    seeds: [bytesOf(catalogText)],
    read: (input) => wellTold(parseCatalog(input.toString('utf8'), publicHalf, { version: 1, digest: 'd' }), input),
  },
  {
    name: 'registry-file',
    grammar: 'text',
    share: 1,
    words: [...yamlWords, 'attestation', 'base_url', 'http://', 'request', 'extra_body'],
    seeds: [bytesOf(registryText)],
    read: (input) => wellTold(parseRegistry(input.toString('utf8'), 'd'), input),
  },
  {
    name: 'billing-file',
    grammar: 'text',
    share: 1,
    words: yamlWords,
    seeds: [billingText],
    read: (input) => wellTold(parseBilling(input.toString('utf8')), input),
  },
  {
    name: 'model-list-of-a-provider',
    grammar: 'json',
    share: 1,
    words: 'pricing prompt completion context_length architecture top_provider supported_parameters 0.000001'.split(
      ' ',
    ),
    seeds: [
      jsonBytes({
        data: [
          {
            id: 'x/y',
            name: 'Y',
            context_length: 10,
            pricing: { prompt: '0.000001', completion: '0.000002' },
            architecture: { input_modalities: ['text', 'image'] },
            supported_parameters: ['tools'],
          },
          { id: 'z', type: 'embedding', pricing: { input: 0.2, output: 0 } },
        ],
      }),
    ],
    read: (input) => {
      const list = jsonOf(input);
      if (list !== undefined)
        importModels(list, {
          provider: 'acme',
          creator: 'acme',
          privacyClass: 'private',
          asOf: '2026-01-31',
          given: {},
        });
    },
  },
  {
    name: 'settings',
    grammar: 'text',
    share: 2,
    words: [
      '=',
      '\n',
      'CONFIDENTIAL_TLS=self',
      'TLS_CERT_FILE=x',
      'off',
      'on',
      '0x10',
      'https://',
      '127.0.0.1',
      '::1',
      'CONNECTED_APPS=on',
      'BILLING_TEST_RAIL=on',
      'BTCPAY_URL=https://b',
    ],
    seeds: [bytesOf(environment)],
    read: readEnvironment,
  },
  {
    name: 'pins',
    grammar: 'json',
    share: 1,
    seeds: [readFileSync(join(root, 'packages/client/src/pins/pins.json'))],
    read: (input) => void readPins(input.toString('utf8')),
  },
  {
    name: 'keeper-pins',
    grammar: 'json',
    share: 1,
    words: ['gateway', 'tdx', 'sev_snp', 'measurements', 'provider_registries', 'minimum_tcb'],
    seeds: [
      jsonBytes({
        gateway: {
          tdx: {
            minimum_evaluation_number: 18,
            measurements: [
              Object.fromEntries(['mr_td', 'rtmr0', 'rtmr1', 'rtmr2', 'rtmr3'].map((name) => [name, '00'.repeat(48)])),
            ],
          },
          provider_registries: [`sha256:${'ab'.repeat(32)}`],
        },
      }),
    ],
    read: (input) => refusesInOneLine(() => parsePins(input.toString('utf8'))),
  },
  {
    name: 'keeper-secrets',
    grammar: 'text',
    share: 1,
    words: ['=', '"', "'", '`', '#', '\\n', 'export ', 'ACME_API_KEY=', 'REDIS_URL=', '__proto___KEY='],
    seeds: [bytesOf('# of the providers\nACME_API_KEY=sk-acme\nREDIS_URL="redis://h:6379"\n')],
    read: (input) => refusesInOneLine(() => parseSecrets(input.toString('utf8'))),
  },
  {
    name: 'bill',
    grammar: 'json',
    share: 3,
    words: ['data', 'usage', 'cost', 'cached_tokens', 'estimated', 'billing', 'receipt', 'pricing'],
    seeds: [jsonBytes(bill), jsonBytes(answer), bytesOf(`${JSON.stringify(answer)}\n${JSON.stringify(answer)}`)],
    read: (input) => {
      const read = readBill(input.toString('utf8'));
      if (typeof read === 'string') return;
      const list = readPrices(prices);
      for (const charge of read.charges) verifyCharge(charge, list?.prices ?? []);
    },
  },
  {
    name: 'prices-and-receipts',
    grammar: 'json',
    share: 2,
    words: ['pricing', 'provider_routes', 'input', 'catalog_digest', 'bill', 'charge', 'signature'],
    seeds: [jsonBytes(prices), jsonBytes({ version: 'sotto.receipt.v1', bill: { charge_nusd: '10', model: 'a/b' } })],
    read: (input) => {
      const value = jsonOf(input);
      if (value === undefined) return;
      const list = readPrices(value);
      if (!isReceipt(value)) return;
      const charge = readReceiptCharge(value);
      if (typeof charge === 'object' && !('unbilled' in charge)) judgeReceipt(charge, list);
    },
  },
  {
    name: 'page-cursor',
    grammar: 'text',
    share: 1,
    seeds: [bytesOf(Buffer.from('2026-01-01T00:00:00.000Z abc-1').toString('base64url'))],
    read: (input) => {
      try {
        readCursor(input.toString('utf8'), /^[a-z0-9-]+$/);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    },
  },
];
