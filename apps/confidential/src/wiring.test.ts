import type { EvidenceProducer } from '@sotto/attestation/producers';
import { createMemoryState, MemoryStore } from '@sotto/state';
import pino from 'pino';
import { expect, it } from 'vitest';
import { RegistryFileError } from './registry-file.ts';
import { buildBroker } from './wiring.ts';

const registry = (...fields: string[]): Buffer =>
  Buffer.from(
    `providers:\n  - id: own\n${['name: Own', 'adapter: openai', 'privacy_class: private', ...fields].map((field) => `    ${field}\n`).join('')}`,
  );

/** Builds a broker with this evidence. */
const build = (bytes: Buffer, kind: EvidenceProducer['kind'] | undefined, ofImage = bytes) =>
  buildBroker({
    state: createMemoryState({ store: new MemoryStore(Date.now) }),
    logger: pino({ level: 'silent' }),
    registryFile: { name: 'providers.yaml', bytes },
    imageRegistry: { name: 'providers.yaml', bytes: ofImage },
    providerKey: () => undefined,
    secrets: { ticketSealingKey: [Buffer.alloc(32)], settlementMacKey: Buffer.alloc(32) },
    media: { image: false, speech: false },
    trustProxy: false,
    gateway: kind && {
      origin: 'https://api.example.com',
      producer: { kind, produce: () => Promise.reject(new Error('not asked')), refresh: async () => {} },
      tlsKeys: undefined,
      provenance: undefined,
    },
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
