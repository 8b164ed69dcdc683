import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { type ProviderRegistry, parseRegistry } from '@sotto/router';
import type { FileProblem } from '@sotto/yaml';
import {
  problemOfForeignRegistry,
  problemOfMeasurement,
  problemOfPlainHttp,
  type RegistryBytes,
} from './providers/check-registry.ts';

/** Thrown for an invalid registry file. Its message ends the start, with one line per problem. */
export class RegistryFileError extends Error {
  constructor(name: string, problems: readonly FileProblem[]) {
    super(problems.map(({ line, message }) => `${name}:${line}: ${message}`).join('\n'));
    this.name = 'RegistryFileError';
  }
}

/** A registry and the SHA-256 of its file. */
export interface ReadRegistry {
  readonly providers: ProviderRegistry;
  readonly digest: string;
}

/** Reads a registry for a broker with this evidence. Throws `RegistryFileError`. */
export function readRegistry(
  file: RegistryBytes,
  ofImage: RegistryBytes,
  producer: EvidenceProducer | undefined,
): ReadRegistry {
  const foreign = problemOfForeignRegistry(file, ofImage, producer);
  if (foreign !== undefined) throw new RegistryFileError(file.name, [{ line: 1, message: foreign }]);
  const digest = hash('sha256', file.bytes);
  const parsed = parseRegistry(file.bytes.toString('utf8'), digest, {
    problemOfMeasurement,
    problemOfPlainHttp: (hostname) => problemOfPlainHttp(hostname, producer),
  });
  if (!parsed.ok) throw new RegistryFileError(file.name, parsed.problems);
  return { providers: parsed.value, digest };
}

/**
 * Returns the registry that comes with the broker: well-known providers, each enabled once its key is in the
 * environment.
 */
export function builtInRegistry(): RegistryBytes {
  // This file stays directly in `src`: the bundle, too, is in a folder beside `providers.yaml`.
  const url = new URL('../providers.yaml', import.meta.url);
  return { name: 'providers.yaml', bytes: readFileSync(url) };
}
