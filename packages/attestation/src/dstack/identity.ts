import * as z from 'zod';
import { type Bytes, concatBytes, fromHex, toHex } from '../bytes.ts';
import { parseJson, Refusal, readOrRefuse } from '../refusal.ts';
import { canonicalJson } from '../statement/canonical-json.ts';
import type { MeasuredEvent } from './event-log.ts';

/** The identity of a dstack machine. Hex, lower case. */
export interface DstackIdentity {
  readonly appId: string | undefined;
  /** SHA-256 of the app-compose document that runs. */
  readonly composeHash: string;
  readonly osImageHash: string | undefined;
  readonly keyProvider: { readonly name: string; readonly id: string } | undefined;
}

const keyProviderSchema = z.object({ name: z.string().max(64), id: z.string().max(4096) });

/**
 * Reads the identity from the events of a replayed log. Only events before `system-ready` count, each at most once.
 * After that event the application can log anything, including events with these names.
 */
export function identityFromEvents(events: readonly MeasuredEvent[]): DstackIdentity {
  const runtime = events.map((event) => event.runtime).filter((event) => event !== undefined);
  const readyAt = runtime.findIndex(({ name }) => name === 'system-ready');
  if (readyAt === -1) throw new Refusal('the machine has not logged that it was ready');
  const platform = new Map<string, Bytes>();
  for (const { name, payload } of runtime.slice(0, readyAt)) {
    // Version 1 joins name and payload with a colon, so a name with a colon would be ambiguous.
    if (name.includes(':')) throw new Refusal('a platform event has a colon in its name');
    if (platform.has(name)) throw new Refusal(`platform event ${JSON.stringify(name)} comes twice`);
    platform.set(name, payload);
  }
  const value = (name: string, bytes: number): string | undefined => {
    const payload = platform.get(name);
    if (payload !== undefined && payload.length !== bytes) throw new Refusal(`event ${name} has not ${bytes} bytes`);
    return payload && toHex(payload);
  };
  const composeHash = value('compose-hash', 32);
  if (composeHash === undefined) throw new Refusal('the machine has not logged what it runs');
  return {
    appId: value('app-id', 20),
    composeHash,
    osImageHash: value('os-image-hash', 32),
    keyProvider: keyProviderOf(platform.get('key-provider')),
  };
}

function keyProviderOf(payload: Bytes | undefined): DstackIdentity['keyProvider'] {
  if (payload === undefined) return undefined;
  const value = parseJson(new TextDecoder().decode(payload), 'the key provider');
  return readOrRefuse(keyProviderSchema, value, 'the key provider is not of a known form');
}

const configSchema = z.object({
  version: z.literal(3),
  app_id: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .optional(),
  compose_hash: z.string().regex(/^[0-9a-f]{64}$/),
  key_provider: z.string().max(64),
  key_provider_id: z.string().max(4096).optional(),
});
const maximumConfig = 65_536;

/** Reads a machine configuration of version 3. It must be in canonical form, because the hash covers that form. */
export function identityFromConfig(document: string): DstackIdentity {
  if (document.length > maximumConfig) throw new Refusal('the machine configuration is too large');
  const value = parseJson(document, 'the machine configuration');
  if (canonicalJson(value) !== document) throw new Refusal('the machine configuration is not in its canonical form');
  const config = readOrRefuse(configSchema, value, 'the machine configuration is not of version 3');
  const { app_id, compose_hash, key_provider, key_provider_id = '' } = config;
  return {
    appId: app_id,
    composeHash: compose_hash,
    osImageHash: undefined,
    keyProvider: { name: key_provider, id: key_provider_id },
  };
}

const keyProviderKinds: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['local', 1],
  ['local-sgx', 1],
  ['kms', 2],
  ['tpm', 3],
  ['snp-derived', 4],
]);

/** The bytes whose Keccak-256 is version 2 of MRCONFIGID. */
export function configPreimage({ composeHash, appId = '', keyProvider }: DstackIdentity): Bytes {
  const kind = keyProvider && keyProviderKinds.get(keyProvider.name);
  if (keyProvider === undefined || kind === undefined) throw new Refusal('the key provider is not known');
  return concatBytes(
    fromHex(composeHash, 'the compose hash', 32),
    fromHex(appId, 'the app id', 20),
    Uint8Array.of(kind),
    fromHex(keyProvider.id, 'the id of the key provider'),
  );
}
