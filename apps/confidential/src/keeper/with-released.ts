import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { parseRegistry } from '@sotto/router';
import type { Environment } from '@sotto/server';
import type { EarlyConfig } from '../config.ts';
import type { BrokerEvents } from '../events.ts';
import { problemOfForeignRegistry, problemOfMeasurement, type RegistryBytes } from '../providers/check-registry.ts';
import { builtInRegistry, RegistryFileError } from '../registry-file.ts';
import { obtainSecrets } from './obtain-secrets.ts';

/** Thrown when the broker cannot start. It is printed as one line, without a stack. */
export class StartError extends Error {}

/**
 * Returns the environment with the secrets that the keeper releases, if there is a keeper. It waits for them as long as
 * necessary.
 */
export async function withReleased(
  environment: Environment,
  { keeper, attestation }: EarlyConfig,
  machine: {
    readonly attest: () => Promise<EvidenceProducer | undefined>;
    readonly registryFile: RegistryBytes;
    readonly events: BrokerEvents;
  },
): Promise<Environment> {
  if (keeper === undefined) return environment;
  const producer = await machine.attest();
  if (producer === undefined) {
    throw new StartError(
      `KEEPER_ORIGIN is set while ATTESTATION is \`${attestation}\`. The keeper releases secrets only for evidence; enable attestation`,
    );
  }
  // A keeper would reject its evidence for ever.
  const foreign = problemOfForeignRegistry(machine.registryFile, builtInRegistry(), producer);
  if (foreign !== undefined) throw new StartError(foreign);
  const released = await obtainSecrets({
    origin: keeper.origin,
    ca: readAuthorities(keeper.caFile),
    producer,
    names: secretNames(machine.registryFile),
    registryDigest: hash('sha256', machine.registryFile.bytes),
    events: machine.events,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  });
  const twice = Object.keys(released).find((name) => environment[name]);
  if (twice !== undefined)
    throw new StartError(`${twice} is set here and also released by the keeper. Remove one of them`);
  return { ...environment, ...released };
}

function readAuthorities(file: string): string {
  try {
    const ca = readFileSync(file, 'utf8');
    if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM');
    createSecureContext({ ca });
    return ca;
  } catch {
    throw new StartError(
      `KEEPER_CA_FILE is \`${file}\`, which contains no usable certificates. Set it to a file with certificates as PEM`,
    );
  }
}

/**
 * Returns the names that may be released: those that each broker needs, and the keys of the providers in its registry.
 */
function secretNames(registryFile: RegistryBytes): ReadonlySet<string> {
  const parsed = parseRegistry(registryFile.bytes.toString('utf8'), '', { problemOfMeasurement });
  if (!parsed.ok) throw new RegistryFileError(registryFile.name, parsed.problems);
  const ofProviders = parsed.value.providers.flatMap(({ api_key_env: name }) => name ?? []);
  return new Set(['REDIS_URL', 'TICKET_SEALING_KEY', 'OTHER_TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', ...ofProviders]);
}
