import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { type GatewayPins, gatewayPinsSchema } from '@sotto/attestation';
import { isSecretName } from '@sotto/settings';
import { problemOf } from '@sotto/wire';
import { z } from 'zod';

/** A file of the keeper's cannot be used: one line that says what is wrong with it, without a secret of it. */
export class FileError extends Error {}

/** `providers` is for clients: one file may serve both. */
const pinsSchema = z.strictObject({ gateway: gatewayPinsSchema, providers: z.unknown().optional() });

/**
 * Reads which brokers get the secrets, in the form that clients take for their pins. It must pin provider registries, too: the
 * keys of providers would else go to a broker that its host has pointed to providers of the host's own. Throws `FileError`.
 */
export function parsePins(text: string): GatewayPins {
  const parsed = pinsSchema.safeParse(json(text));
  if (!parsed.success) {
    throw new FileError(`PINS_FILE: ${problemOf(parsed.error, 'it')} (docs/guides/verify.md#pins)`);
  }
  const { gateway } = parsed.data;
  if (gateway.tdx === undefined && gateway.sev_snp === undefined) {
    throw new FileError('PINS_FILE: it pins no machine: it takes `gateway.tdx` or `gateway.sev_snp`');
  }
  if (gateway.provider_registries === undefined) {
    throw new FileError(
      'PINS_FILE: it takes `gateway.provider_registries`: the keys of providers go to brokers of a registry that you know',
    );
  }
  return gateway;
}

/** Reads what is released, from lines of `NAME=value`. Throws `FileError`. */
export function parseSecrets(text: string): Readonly<Record<string, string>> {
  const secrets = new Map<string, string>();
  for (const [name, value = ''] of Object.entries(parseEnv(text))) {
    if (!isSecretName(name)) {
      throw new FileError(
        `SECRETS_FILE: \`${printable(name)}\` is no name of a secret: it takes names that end in _KEY, _SECRET, _URL, _TOKEN or _PASSWORD; other settings belong into the image`,
      );
    }
    if (value === '') throw new FileError(`SECRETS_FILE: ${name} has no value`);
    secrets.set(name, value);
  }
  if (secrets.size === 0) throw new FileError('SECRETS_FILE: there is no secret in it');
  return Object.fromEntries(secrets);
}

/** A name that is none may be anything, a secret without its name included. */
const printable = (name: string): string => (/^\w{1,40}$/.test(name) ? name : '…');

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FileError('PINS_FILE: it is not valid JSON');
  }
}

/** Throws `FileError`. */
export function readText(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new FileError(`${name} is \`${path}\`: it takes the path of a readable file`);
  }
}
