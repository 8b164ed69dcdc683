import { ClientError } from '../errors.ts';
import { acceptableVerdicts } from '../gateway/acceptance.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { makePrivateClient, type PrivateClient } from '../private/create-private-fetch.ts';
import { asUsage, readKey, readPinsFile, readWord, requiredAddress, type serviceOptions } from './settings.ts';
import { type ExitCode, printable, type Terminal } from './terminal.ts';

type Values = {
  readonly [name in keyof typeof serviceOptions]?: (typeof serviceOptions)[name]['type'] extends 'boolean'
    ? boolean | undefined
    : string | undefined;
};

/**
 * Opens the private way to the service that `serviceOptions` name, and verifies it before anything else. Notes each
 * accepted verification. If the service is not verified as required, notes the reason and resolves to the exit code.
 */
export async function openService(terminal: Terminal, values: Values): Promise<PrivateClient | ExitCode> {
  const baseOrigin = requiredAddress(terminal, '--base-url', values['base-url']);
  const controlOrigin = requiredAddress(terminal, '--control-url', values['control-url']);
  const { origin } = asUsage(() => readOrigin('--base-url', baseOrigin));
  asUsage(() => readOrigin('--control-url', controlOrigin));
  const options: Parameters<typeof makePrivateClient>[1] = {
    apiKey: readKey(terminal, values['key-file']),
    controlOrigin,
    baseOrigin,
    pins: readPinsFile(values.pins),
    minimumVerdict: readWord('--require', values.require ?? 'hardware_verified', acceptableVerdicts),
    allowSimulated: values['allow-simulated'] ?? false,
    e2eeOnly: values.e2ee ?? false,
    onVerified: (verification) => terminal.note(verifiedLine(verification)),
    onEnclaveVerified: ({ provider, model, verdict }) =>
      terminal.note(`verified the enclave of ${printable(provider)} for ${printable(model)}: ${verdict}\n`),
  };
  const platform = asUsage(() => nodePlatform({ selfSigned: values['self-signed'] ?? false, relay: values.relay }));
  const client = asUsage(() => makePrivateClient(platform, options));
  try {
    await client.session.verified();
    return client;
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    terminal.note(`${error.code}: ${error.message}\nSee \`sotto verify ${origin}\`.\n`);
    return error.code === 'attestation_unavailable' ? 3 : 1;
  }
}

function verifiedLine({ origin, verdict, teeType, keySet, verifiedAt }: OriginVerification): string {
  const until = keySet === undefined ? '' : `, key set until ${new Date(keySet.not_after * 1000).toISOString()}`;
  const warning = teeType === 'simulated' ? ' SIMULATED: nothing is protected.' : '';
  return `${new Date(verifiedAt).toISOString()} verified ${origin}: ${verdict} (${teeType ?? 'none'}${until}).${warning}\n`;
}
