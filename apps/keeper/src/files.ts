import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { type GatewayPins, gatewayPinsSchema } from '@sotto/attestation';
import { isSecretName } from '@sotto/server';
import { isOwnSecret, ownSecretProblem, parseJson, problemOf, repeatedName } from '@sotto/wire';
import * as z from 'zod';

/** Thrown when a file of the keeper cannot be used. The message is one line and quotes no secret. */
export class FileError extends Error {}

/** The keeper reads only `gateway`, so that it can share one file with clients. */
const pinsSchema = z.strictObject({
  gateway: gatewayPinsSchema,
  providers: z.unknown().optional(),
  credits: z.unknown().optional(),
  releases: z.unknown().optional(),
  logs: z.unknown().optional(),
});

/**
 * Reads which brokers get the secrets, in the same form as a client's pins. The pins must name provider registries:
 * without them, a host could point a broker at its own providers and receive the providers' keys. Throws `FileError`.
 */
export function parsePins(text: string): GatewayPins {
  const value = parseJson(text);
  if (value === undefined) throw new FileError('PINS_FILE: it is not valid JSON');
  const repeated = repeatedName(text);
  if (repeated !== undefined) {
    throw new FileError(`PINS_FILE: it has \`${repeated}\` twice, and only the last one would count; remove one`);
  }
  const parsed = pinsSchema.safeParse(value);
  if (!parsed.success) {
    throw new FileError(`PINS_FILE: ${problemOf(parsed.error, 'it')} (docs/use/verifying.md#pins)`);
  }
  const { gateway } = parsed.data;
  if (gateway.tdx === undefined && gateway.sev_snp === undefined) {
    throw new FileError('PINS_FILE: it pins no machine. Add `gateway.tdx` or `gateway.sev_snp`');
  }
  if (gateway.provider_registries === undefined) {
    throw new FileError(
      'PINS_FILE: `gateway.provider_registries` is missing. It lists the registries whose brokers may receive provider keys',
    );
  }
  return gateway;
}

/** Reads the secrets from lines of `NAME=value`. Throws `FileError`. */
export function parseSecrets(text: string): Readonly<Record<string, string>> {
  const secrets = new Map<string, string>();
  for (const [name, value = ''] of Object.entries(parseEnv(text))) {
    if (!isSecretName(name)) {
      throw new FileError(
        `SECRETS_FILE: \`${printable(name)}\` is not the name of a secret. Names end in _KEY, _SECRET, _URL, _TOKEN or _PASSWORD; other settings belong in the image`,
      );
    }
    if (value === '') throw new FileError(`SECRETS_FILE: ${name} has no value`);
    if (isOwnSecret(value)) throw new FileError(`SECRETS_FILE: ${name} ${ownSecretProblem}`);
    secrets.set(name, value);
  }
  if (secrets.size === 0) throw new FileError('SECRETS_FILE: it contains no secret');
  return Object.fromEntries(secrets);
}

/** A malformed name can be anything, such as a secret that was pasted without its name, so it is not shown. */
const printable = (name: string): string => (/^\w{1,40}$/.test(name) ? name : '…');

/** Throws `FileError`. */
export function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new FileError(`${name} is \`${path}\`, which cannot be read. Set it to a readable file`);
  }
}
