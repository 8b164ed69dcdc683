import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { parseRegistry } from '@sotto/router';
import type { Environment } from '@sotto/settings';
import type { EarlyConfig } from '../config.ts';
import type { BrokerEvents } from '../events.ts';
import { StartError } from '../start-error.ts';
import { problemOfMeasurement } from '../tee/check-registry.ts';
import { RegistryFileError } from '../wiring.ts';
import { obtainSecrets } from './obtain-secrets.ts';

/** The environment with what the keeper releases, where there is one. Waits for it as long as it takes. */
export async function withReleased(
  environment: Environment,
  { keeper, attestation }: EarlyConfig,
  machine: {
    readonly attest: () => Promise<EvidenceProducer | undefined>;
    readonly registryFile: { readonly name: string; readonly bytes: Buffer };
    readonly events: BrokerEvents;
  },
): Promise<Environment> {
  if (keeper === undefined) return environment;
  const producer = await machine.attest();
  if (producer === undefined) {
    throw new StartError(
      `KEEPER_ORIGIN is set while ATTESTATION is \`${attestation}\`: secrets are released to evidence alone`,
    );
  }
  // Whoever is process 1 of a container hears only the signals that it asks for.
  const leave = (): never => process.exit(0);
  process.on('SIGTERM', leave).on('SIGINT', leave);
  const released = await obtainSecrets({
    origin: keeper.origin,
    ca: readAuthorities(keeper.caFile),
    producer,
    names: secretNames(machine.registryFile),
    registryDigest: createHash('sha256').update(machine.registryFile.bytes).digest('hex'),
    events: machine.events,
    now: Date.now,
    wait: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  });
  process.off('SIGTERM', leave).off('SIGINT', leave);
  const twice = Object.keys(released).find((name) => environment[name]);
  if (twice !== undefined) throw new StartError(`${twice} is set, and released by the keeper: it takes one of them`);
  return { ...environment, ...released };
}

function readAuthorities(file: string): string {
  try {
    const ca = readFileSync(file, 'utf8');
    if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('no PEM');
    createSecureContext({ ca });
    return ca;
  } catch {
    throw new StartError(`KEEPER_CA_FILE is \`${file}\`: it takes the path of a file with certificates, as PEM`);
  }
}

/** What may be released: what each broker needs, and the keys of the providers in its registry. */
function secretNames(registryFile: { readonly name: string; readonly bytes: Buffer }): ReadonlySet<string> {
  const parsed = parseRegistry(registryFile.bytes.toString('utf8'), '', problemOfMeasurement);
  if (!parsed.ok) throw new RegistryFileError(registryFile.name, parsed.problems);
  const ofProviders = parsed.value.providers.flatMap(({ api_key_env: name }) => name ?? []);
  return new Set(['REDIS_URL', 'TICKET_SEALING_KEY', 'OTHER_TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY', ...ofProviders]);
}
