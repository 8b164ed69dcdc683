import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { EvidenceProducer } from '@sotto/attestation/producers';
import { extendsBuiltIn, type ProviderRegistry, parseRegistry } from '@sotto/router';
import { StartError } from '@sotto/server';
import type { FileProblem } from '@sotto/yaml';
import {
  problemOfForeignRegistry,
  problemOfMeasurement,
  problemOfPlainHttp,
  type RegistryBytes,
} from './providers/check-registry.ts';

/** Thrown for an invalid registry file. Its message ends the start, with one line per problem. */
export class RegistryFileError extends StartError {
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
  const text = file.bytes.toString('utf8');
  const builtIn = extendsBuiltIn(text) ? ofImage.bytes : undefined;
  // A registry that extends the image's means something else with another image.
  const digest = hash('sha256', builtIn === undefined ? file.bytes : Buffer.concat([file.bytes, builtIn]));
  const parsed = parseRegistry(text, digest, {
    problemOfMeasurement,
    builtIn: builtIn?.toString('utf8'),
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
