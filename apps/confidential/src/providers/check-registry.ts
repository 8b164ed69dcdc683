import { isIP } from 'node:net';
import { measurementSchema } from '@sotto/attestation';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { isPrivateAddress } from '@sotto/providers';
import type { RegistryProvider } from '@sotto/router';

/** Checks a measurement of the registry. Returns the problem; undefined: none. */
export function problemOfMeasurement(measurement: string): string | undefined {
  const parsed = measurementSchema.safeParse(measurement);
  if (parsed.success) return undefined;
  const why = parsed.error.issues[0]?.message ?? 'it is malformed';
  return `a measurement is not of the form \`name=hex,name=hex\`: ${why}`;
}

/**
 * Returns why a provider's `tee` routes will be refused whatever its evidence says; undefined if nothing stands in the
 * way.
 */
export function teeObstacle({ privacy_class, models, attestation, base_url }: RegistryProvider): string | undefined {
  if (![privacy_class, ...(models ?? []).map((model) => model.privacy_class)].includes('tee')) return undefined;
  if (attestation === undefined) return 'it names no family of evidence';
  if (attestation.family === 'venice') return 'its evidence binds no TLS key: its models can be e2ee or private';
  if (new URL(base_url).protocol !== 'https:') return 'its address has no TLS';
  if ((attestation.measurements ?? []).length === 0) return 'it pins no measurements';
  return undefined;
}

/**
 * Checks whether a broker with this evidence may reach a host without TLS. Returns the problem, or undefined. The
 * addresses of a name are checked at each connection.
 */
export function problemOfPlainHttp(
  hostname: string,
  producer: Pick<EvidenceProducer, 'kind'> | undefined,
): string | undefined {
  if (producer !== undefined && producer.kind !== 'simulated') {
    return '`insecure_http` is not possible where the broker proves its code: the network would read what only that code may';
  }
  const address = hostname.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 || isPrivateAddress(address)
    ? undefined
    : '`insecure_http` takes a private address, such as http://10.0.0.5:8000/v1';
}

export interface RegistryBytes {
  readonly name: string;
  readonly bytes: Buffer;
}

/**
 * Checks whether a broker with this evidence may use this registry. Returns the problem, or undefined. Where evidence is
 * real, clients pin the registry of the image, so nothing outside the image may add or override a provider.
 */
export function problemOfForeignRegistry(
  { name, bytes }: RegistryBytes,
  ofImage: RegistryBytes,
  producer: Pick<EvidenceProducer, 'kind'> | undefined,
): string | undefined {
  if (producer === undefined || producer.kind === 'simulated' || bytes.equals(ofImage.bytes)) return undefined;
  return `${name} differs from the registry inside the image. With real evidence (${producer.kind}), a broker takes providers only from its image: run \`sotto-control config split\`, build the image with the providers.yaml that it writes, and remove \`providers\`, \`providers_file\` and PROVIDERS_FILE (docs/operate/confidential-vm.md#a-registry-of-your-own)`;
}
