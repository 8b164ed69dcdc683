import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { keysOf } from '@sotto/router';
import { type EarlyConfig, type Environment, StartError } from '@sotto/server';
import type { BrokerEvents } from '../events.ts';
import { problemOfForeignRegistry, type RegistryBytes } from '../providers/check-registry.ts';
import { builtInRegistry, type ReadRegistry, readRegistry } from '../registry-file.ts';
import { obtainSecrets } from './obtain-secrets.ts';

/** The parts of a broker that are ready before its secrets. */
export interface Machine {
  readonly attest: () => Promise<EvidenceProducer | undefined>;
  readonly registryFile: RegistryBytes;
  readonly events: BrokerEvents;
}

/**
 * Returns the environment with the secrets that the keeper releases, if there is a keeper. It waits for them as long as
 * necessary.
 */
export async function withReleased(
  environment: Environment,
  { keeper, ATTESTATION: attestation }: EarlyConfig,
  machine: Machine,
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
  const registry = readRegistry(machine.registryFile, builtInRegistry(), producer);
  const released = await obtainSecrets({
    origin: keeper.origin,
    ca: readAuthorities(keeper.caFile),
    producer,
    names: secretNames(registry),
    registryDigest: registry.digest,
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
function secretNames({ providers: { providers } }: ReadRegistry): ReadonlySet<string> {
  const ofProviders = providers.flatMap((provider) => keysOf(provider).map(({ env }) => env));
  return new Set(['REDIS_URL', 'TICKET_SEALING_KEY', 'OTHER_TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', ...ofProviders]);
}
