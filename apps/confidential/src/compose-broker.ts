import type { EvidenceProducer } from '@sotto/attestation/producers';
import { type BrokerConfig, readFileOrPart, StartError } from '@sotto/server';
import { readProvenance } from './gateway/open-attestation.ts';
import type { RegistryBytes } from './providers/check-registry.ts';
import { builtInRegistry } from './registry-file.ts';
import { openTls, problemOfKeptKey, type ServedTls } from './tls/open-tls.ts';
import { type Broker, type BrokerOptions, buildBroker } from './wiring.ts';

export interface BrokerParts
  extends Pick<BrokerOptions, 'state' | 'logger' | 'registryFile' | 'providerKey' | 'engine' | 'enclaves'> {
  /** Produces the evidence about this broker. Undefined: it does not attest itself. */
  readonly producer: EvidenceProducer | undefined;
}

/** Builds the broker that its settings describe, with the files that they name. Throws a `StartError`. */
export async function composeBroker(
  config: BrokerConfig,
  { producer, ...parts }: BrokerParts,
): Promise<{ readonly broker: Broker; readonly tls: ServedTls | undefined }> {
  const keptKey = problemOfKeptKey(config.tls, producer);
  if (keptKey !== undefined) throw new StartError(keptKey);
  const { origin } = config;
  const tls = await openTls(config.tls, origin, Date.now).catch(() => {
    throw new StartError(
      `CONFIDENTIAL_TLS is \`${config.tls.kind}\`, but its files cannot be read or written. Check their paths and modes`,
    );
  });
  const provenance = config.PROVENANCE_FILE === undefined ? undefined : readProvenance(config.PROVENANCE_FILE);
  const gateway = producer && { origin, producer, tlsKeys: tls?.named, provenance };
  return { broker: await buildBroker({ ...parts, config, tls: tls?.options, gateway }), tls };
}

/** Reads the registry that PROVIDERS_FILE names; undefined stands for the built-in one. Throws a `StartError`. */
export async function readRegistryFile(name: string | undefined): Promise<RegistryBytes> {
  if (name === undefined) return builtInRegistry();
  try {
    return { name, bytes: await readFileOrPart(name) };
  } catch {
    throw new StartError(`PROVIDERS_FILE is \`${name}\`, which cannot be read. Set it to a readable file`);
  }
}
