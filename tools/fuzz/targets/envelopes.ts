import { readReceiptSecret } from '@sotto/confidential/testing';
import { sessionTokensOf } from '@sotto/control/testing';
import { MeasurementWindow, registryPublicSchema } from '@sotto/router';
import { RouteTally, readRecord } from '@sotto/router/testing';
import { bearerToken } from '@sotto/server';
import {
  apiKeyKind,
  catalogSnapshotSchema,
  createApiKey,
  keyPartSchema,
  openAccountRef,
  openReceipt,
  openTicket,
  readRedisUrl,
  sealAccountRef,
  sealReceipt,
  sealTicket,
  settlementSchema,
  signDeclaration,
  signSettlement,
  verifyDeclaration,
  verifySettlement,
} from '@sotto/state';
import { readJson } from '@sotto/state/testing';
import { initialPreferences, ServiceError } from '@sotto/wire';
import * as z from 'zod';
import { bytesOf, type FuzzTarget, jsonBytes, promise } from '../engine/target.ts';

const key = Buffer.alloc(32, 7);
/** The number of figures in a tally. */
const figures = 4;
const anyObject = z.record(z.string(), z.unknown());
const accountRef = sealAccountRef(key, {
  accountId: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a10',
  workspaceId: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a11',
  keyId: '7f9c0d5e-8d0e-4b57-9a3f-1d2f7b7c9a12',
});
const ticketEnvelope = (models: number) => ({
  v: 1 as const,
  shard: 3,
  expiresAt: 1_800_000_000_000,
  accountRef,
  bindings: { operation: 'chat' as const, model: '["a/b"]', reasoning: '[null,null]', policy: 'p', media: '[]' },
  preferences: {
    ...initialPreferences,
    provider_ignore: Array.from({ length: models }, (_, index) => `provider-${index}`),
  },
});
const tickets = [sealTicket(key, ticketEnvelope(0)), sealTicket(key, ticketEnvelope(400))];
const settlement = {
  v: 1 as const,
  id: 'h1',
  kind: 'charge' as const,
  accountRef,
  chargeNusd: '1234',
  at: 1_750_000_020_000,
  operation: 'chat' as const,
  model: 'a/b',
  provider: 'acme',
  privacyClass: 'private' as const,
  promptTokens: 1,
  cachedTokens: 0,
  completionTokens: 2,
  reasoningTokens: 0,
  attempts: 1,
  fallback: false,
  status: 'completed' as const,
  estimated: false,
  failedAttempts: [{ provider: 'acme/eu', error: 'timeout' as const }],
  month: '2025-06',
};
const signed = signSettlement(key, settlement);
const released = signSettlement(key, { ...settlement, kind: 'release' });
const declared = signDeclaration(key, {
  v: 1,
  client: 'c',
  shard: 1,
  epoch: 2,
  holds: [{ id: 'h', nusd: '5', month: '2025-06', accountRef }],
  charges: [signed],
});
const receipt = sealReceipt('s'.repeat(22), '{"version":1}');
const inferenceKey = createApiKey('inference', (count) => Buffer.alloc(count, 9));

/** Compares decoded bytes, because base64 allows several spellings of the same bytes. */
const sameBytes = (text: string, genuine: readonly string[], prefix = ''): boolean =>
  genuine.some(
    (real) =>
      text.startsWith(prefix) &&
      Buffer.from(text.slice(prefix.length), 'base64url').equals(Buffer.from(real.slice(prefix.length), 'base64url')),
  );

/** Readers of everything that the planes seal, sign, store and receive. */
export const envelopeTargets: readonly FuzzTarget[] = [
  {
    name: 'ticket',
    grammar: 'text',
    share: 4,
    seeds: tickets.map(bytesOf),
    words: ['sotto_tkt_', '=', '-', '_'],
    read: (input) => {
      const text = input.toString('utf8');
      const opened = openTicket(key, text);
      promise(opened === undefined || sameBytes(text, tickets, 'sotto_tkt_'), 'a forged ticket that opens');
    },
  },
  {
    // Behind the seal: anything that control could have sealed, in this version or another.
    name: 'ticket-inside',
    grammar: 'json',
    share: 3,
    seeds: [jsonBytes(ticketEnvelope(1))],
    words: ['bindings', 'preferences', 'v', 'attestation'],
    read: (input) => {
      const parsed = readJson(input.toString('utf8'), anyObject);
      if (parsed === undefined) return;
      openTicket(key, sealTicket(key, parsed as unknown as ReturnType<typeof ticketEnvelope>));
    },
  },
  {
    name: 'api-key',
    grammar: 'text',
    share: 4,
    seeds: [bytesOf(inferenceKey), bytesOf(createApiKey('management', (count) => Buffer.alloc(count, 8)))],
    words: ['sotto_inf_', 'sotto_mgt_'],
    read: (input) => {
      const kind = apiKeyKind(input.toString('utf8'));
      promise(kind === undefined || /^sotto_(?:inf|mgt)_/.test(input.toString('utf8')), 'a key without a kind');
    },
  },
  {
    name: 'account-ref',
    grammar: 'text',
    share: 3,
    seeds: [bytesOf(accountRef)],
    read: (input) => {
      const text = input.toString('utf8');
      promise(
        openAccountRef(key, text) === undefined || sameBytes(text, [accountRef]),
        'a forged reference that opens',
      );
    },
  },
  {
    name: 'settlement',
    grammar: 'json',
    share: 4,
    seeds: [jsonBytes(signed), jsonBytes(released)],
    words: ['payload', 'mac', 'v'],
    read: (input) => {
      const text = readJson(input.toString('utf8'), anyObject);
      if (text === undefined || typeof text.payload !== 'string' || typeof text.mac !== 'string') return;
      const read = verifySettlement(key, { payload: text.payload, mac: text.mac });
      promise(
        read === 'bad_mac' || [signed, released].some(({ payload }) => payload === text.payload),
        'a forged settlement that verifies',
      );
      verifyDeclaration(key, { payload: text.payload, mac: text.mac });
    },
  },
  {
    // Behind the MAC: anything that a broker of this version or another could have signed.
    name: 'settlement-inside',
    grammar: 'json',
    share: 3,
    seeds: [jsonBytes(settlement), bytesOf(declared.payload)],
    words: ['chargeNusd', 'status', 'holds', 'charges'],
    read: (input) => {
      const value = readJson(input.toString('utf8'), anyObject);
      if (value === undefined) return;
      const read = verifySettlement(key, signSettlement(key, value as unknown as typeof settlement));
      if (typeof read !== 'string')
        promise(BigInt(read.chargeNusd) >= 0n && settlementSchema.safeParse(read).success, 'an invalid charge');
      verifyDeclaration(key, signDeclaration(key, value as never));
    },
  },
  {
    name: 'receipt',
    grammar: 'text',
    share: 2,
    seeds: [bytesOf(receipt)],
    read: (input) => {
      const text = input.toString('utf8');
      promise(
        openReceipt('s'.repeat(22), text) === undefined ||
          Buffer.from(text, 'base64').equals(Buffer.from(receipt, 'base64')),
        'a forged receipt that opens',
      );
    },
  },
  {
    name: 'state-records',
    grammar: 'json',
    share: 4,
    words: ['v', 'kind', 'preferences', 'file', 'models', 'providers', 'digest', 'routes', 'pricing'],
    seeds: [
      jsonBytes({ v: 1, kind: 'inference', openaiCompatible: true, preferences: initialPreferences, accountRef }),
      jsonBytes({
        v: 1,
        version: 1,
        digest: 'd',
        file: {
          models: [
            {
              id: 'a/b',
              name: 'B',
              model_type: 'text',
              context_length: 10,
              max_output_tokens: 5,
              routes: [
                { provider: 'acme', upstream_model: 'u', privacy_class: 'private', pricing: { input: 1, output: 2 } },
              ],
            },
          ],
        },
      }),
      jsonBytes({
        digest: 'd',
        providers: [
          {
            id: 'acme',
            name: 'A',
            listed: true,
            privacy_class: 'private',
            available: true,
            models: [{ match: 'x-*', privacy_class: 'tee' }],
          },
        ],
        media: { image: true, speech: false },
      }),
    ],
    read: (input) => {
      const text = input.toString('utf8');
      readJson(text, keyPartSchema);
      readJson(text, catalogSnapshotSchema);
      readJson(text, registryPublicSchema);
    },
  },
  {
    name: 'route-record',
    grammar: 'text',
    share: 4,
    words: [';', ':', ',', '12;11;45:3,46:8;;;', '0', '999999999', '171:1'],
    seeds: [bytesOf('12;11;45:3,46:8;;;'), bytesOf('1;0;'), bytesOf('3;3;1:1;2:2;3:3;170:9')],
    read: (input) => {
      const text = input.toString('latin1');
      const record = readRecord(text, figures);
      const window = new MeasurementWindow(100);
      window.put(100, 's', 'r', text);
      window.put(99, 's', 'r', text);
      window.measurements();
      window.advance(200);
      promise(window.sumOf('r') === undefined, 'a sum that outlives its window');
      if (record === undefined) return;
      const tally = new RouteTally('r');
      promise(tally.combine(text), 'a record that can be read but not combined');
      promise(readRecord(tally.toRecord(), figures) !== undefined, 'a written record that cannot be read');
    },
  },
  {
    name: 'redis-url',
    grammar: 'text',
    share: 1,
    words: ['redis://', 'rediss://', ',', '?cluster=1', '@', '%zz', '[::1]', ':6379', '/0'],
    seeds: [bytesOf('redis://user:p%40ss@host:6379/0'), bytesOf('rediss://a:1,b:2,[::1]:3?cluster=1')],
    read: (input) => {
      try {
        readRedisUrl(input.toString('utf8'));
      } catch (error) {
        if (!(error instanceof TypeError) || !error.message.startsWith('must ')) throw error;
      }
    },
  },
  {
    name: 'credentials',
    grammar: 'text',
    share: 4,
    words: ['Bearer ', 'bearer', 'Basic ', 'sotto.session_token=', '__Secure-', '; ', '=', '"', '%3D', ' '],
    seeds: [
      bytesOf(`Bearer ${inferenceKey}`),
      bytesOf('a=b; sotto.session_token="abc%2Edef"; __Secure-sotto.session_token=x.y'),
    ],
    read: (input) => {
      const header = input.toString('latin1');
      const token = bearerToken({ headers: { authorization: header } } as never);
      promise(token === undefined || !/\s/.test(token), 'a token with blanks');
      sessionTokensOf(header);
      try {
        readReceiptSecret({ 'x-router-receipt': header });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    },
  },
];
