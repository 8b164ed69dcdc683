import type { EvidenceProducer } from '@sotto/attestation/producers';
import { readBrokerConfigWithoutRedis } from '@sotto/server';
import { createMemoryState, MemoryStore } from '@sotto/state';
import pino from 'pino';
import { describe, expect, it, vi } from 'vitest';
import { RegistryFileError } from './registry-file.ts';
import { buildBroker } from './wiring.ts';

const registry = (...fields: string[]): Buffer =>
  Buffer.from(
    `providers:\n  - id: own\n${['name: Own', 'adapter: openai', 'privacy_class: private', ...fields].map((field) => `    ${field}\n`).join('')}`,
  );

const key = 'a'.repeat(64);
const read = readBrokerConfigWithoutRedis({
  CONFIDENTIAL_ORIGIN: 'https://api.example.com',
  TICKET_SEALING_KEY: key,
  SETTLEMENT_MAC_KEY: key,
});
if (!read.ok) throw new Error(read.message);
const config = read.settings;

/** Builds a broker with this evidence. */
const build = (
  bytes: Buffer,
  kind: EvidenceProducer['kind'] | undefined,
  ofImage = bytes,
  state = createMemoryState({ store: new MemoryStore(Date.now) }),
) =>
  buildBroker({
    config,
    state,
    logger: pino({ level: 'silent' }),
    registryFile: { name: 'providers.yaml', bytes },
    imageRegistry: { name: 'providers.yaml', bytes: ofImage },
    providerKey: () => undefined,
    gateway: kind && {
      origin: 'https://api.example.com',
      producer: { kind, produce: () => Promise.reject(new Error('not asked')), refresh: async () => {} },
      tlsKeys: undefined,
      provenance: undefined,
    },
  });

describe('a running broker that reads its keys and its registry again', () => {
  const named = (...lines: string[]): Buffer => Buffer.from(`providers:\n${lines.join('')}`);
  const entry = (id: string, more = ''): string =>
    `  - { id: ${id}, name: ${id}, adapter: openai, base_url: 'https://${id}.example/v1', privacy_class: private${more} }\n`;
  const keyed = entry('keyed', ', api_keys: [{ env: ONE }, { env: TWO }]');
  const file = (bytes: Buffer) => ({ name: 'providers.yaml', bytes });
  const without = (): undefined => undefined;

  async function started(bytes: Buffer, attests = false) {
    const state = createMemoryState({ store: new MemoryStore(Date.now) });
    const broker = await build(bytes, attests ? 'simulated' : undefined, bytes, state);
    await broker.start();
    const available = async () =>
      (await state.readRegistry())?.providers.flatMap((provider) => (provider.available ? [provider.id] : []));
    const reload = async (next: Buffer, providerKey: (name: string) => string | undefined = without): Promise<void> => {
      await broker.reload({ registryFile: file(next), providerKey });
    };
    return { available, reload, stop: () => broker.drain({ announceMs: 0, graceMs: 0 }) };
  }

  it('publishes the providers that it can call now', async () => {
    const { available, reload, stop } = await started(named(entry('one'), keyed));
    expect(await available()).toEqual(['one']);
    await reload(named(entry('one'), keyed), (name) => (name === 'TWO' ? 'sk-two' : undefined));
    await vi.waitFor(async () => expect(await available()).toEqual(['one', 'keyed']), 60_000);
    await reload(named(entry('two')));
    await vi.waitFor(async () => expect(await available()).toEqual(['two']), 60_000);
    await stop();
  });

  it('keeps what it has if the file is malformed', async () => {
    const { available, reload, stop } = await started(named(entry('one')));
    await expect(reload(Buffer.from('providers: ['))).rejects.toThrow(RegistryFileError);
    expect(await available()).toEqual(['one']);
    await stop();
  });

  it('takes other keys, but no other registry, if it attests its registry', async () => {
    const { available, reload, stop } = await started(named(keyed), true);
    await expect(reload(named(entry('one')))).rejects.toThrow(/attests its registry/);
    await reload(named(keyed), () => 'sk');
    await vi.waitFor(async () => expect(await available()).toEqual(['keyed']), 60_000);
    await stop();
  });

  it('refuses a change of a provider whose enclave was verified', async () => {
    const enclave = (path: string): Buffer =>
      Buffer.from(
        `providers:\n  - { id: near, name: near, adapter: openai, base_url: 'https://near.example/${path}', privacy_class: tee, attestation: { family: near } }\n`,
      );
    const { reload, stop } = await started(enclave('v1'));
    await expect(reload(enclave('v2'))).rejects.toThrow(/provider near is verified as it was at the start/);
    await reload(enclave('v1'));
    await stop();
  });
});

const plain = registry('base_url: http://models.internal:8000/v1', 'insecure_http: true');

it.each(['configfs', 'dstack'] as const)(
  'a broker with real evidence (%s) refuses a provider without TLS',
  async (kind) => {
    const refused = build(plain, kind);
    await expect(refused).rejects.toThrow(RegistryFileError);
    await expect(refused).rejects.toThrow(/^providers\.yaml:7: provider own: `insecure_http` is not possible where/);
    await expect(build(registry('base_url: https://models.example/v1'), kind)).resolves.toBeDefined();
  },
);

const sound = registry('base_url: https://models.example/v1');
const other = registry('base_url: https://other.example/v1');

it.each(['configfs', 'dstack'] as const)(
  'a broker with real evidence (%s) takes only the registry inside its image',
  async (kind) => {
    const refused = build(other, kind, sound);
    await expect(refused).rejects.toThrow(RegistryFileError);
    await expect(refused).rejects.toThrow(
      /differs from the registry inside the image.*run `sotto-control config split`/,
    );
    await expect(build(Buffer.from(sound), kind, sound)).resolves.toBeDefined();
  },
);

it.each([undefined, 'simulated'] as const)('a broker with the evidence %s takes another registry', async (kind) => {
  await expect(build(other, kind, sound)).resolves.toBeDefined();
});

it.each([undefined, 'simulated'] as const)('a broker with the evidence %s takes one', async (kind) => {
  await expect(build(plain, kind)).resolves.toBeDefined();
  const outside = build(registry('base_url: http://203.0.113.7/v1', 'insecure_http: true'), kind);
  await expect(outside).rejects.toThrow(/takes a private address/);
});
