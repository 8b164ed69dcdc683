import { relaySentence } from '@sotto/wire';
import type { EnclaveVerification } from '../enclave/verify-enclave.ts';
import { ClientError } from '../errors.ts';
import { acceptableVerdicts } from '../gateway/acceptance.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { makePrivateClient, type PrivateClient } from '../private/create-private-fetch.ts';
import type { Exchange } from '../private/private-exchange.ts';
import type { PrivateFetchOptions } from '../private/private-options.ts';
import { proveToolCalls } from '../proof/prove-tool-calls.ts';
import { takeAnonymously } from './purse-command.ts';
import { asUsage, readKey, readPinsFile, readWord, requiredAddress, type serviceOptions } from './settings.ts';
import { type ExitCode, exitCodeOf, printable, type Terminal } from './terminal.ts';

type Values = {
  readonly [name in keyof typeof serviceOptions]?: (typeof serviceOptions)[name]['type'] extends 'boolean'
    ? boolean | undefined
    : string | undefined;
} & {
  readonly anonymous?: boolean | undefined;
  readonly purse?: string | undefined;
  readonly 'prove-tool-calls'?: boolean | undefined;
};

/** The private way to a service, for one command. */
export interface OpenService extends Omit<PrivateClient, 'exchange'> {
  readonly exchange: Exchange;
  /** Closes the connections and, after them, an anonymous wallet. */
  leave(): Promise<void>;
}

/** How long an anonymous wallet is used, because its requests can be linked to each other. */
const walletMs = 24 * 60 * 60_000;

/**
 * Opens the private way to the service that `serviceOptions` name, and verifies it before anything else. Notes each
 * accepted verification. If the service is not verified as required, notes the reason and resolves to the exit code.
 */
export async function openService(
  terminal: Terminal,
  values: Values,
  more: Pick<PrivateFetchOptions, 'onEnclaveExchange' | 'onEnclaveVerified' | 'onVerified'> = {},
): Promise<OpenService | ExitCode> {
  const baseOrigin = requiredAddress(terminal, '--base-url', values['base-url']);
  const controlOrigin = requiredAddress(terminal, '--control-url', values['control-url']);
  const { origin } = asUsage(() => readOrigin('--base-url', baseOrigin));
  asUsage(() => readOrigin('--control-url', controlOrigin));
  const options: Omit<Parameters<typeof makePrivateClient>[1], 'apiKey'> = {
    controlOrigin,
    baseOrigin,
    pins: readPinsFile(values.pins),
    minimumVerdict: readWord('--require', values.require ?? 'hardware_verified', acceptableVerdicts),
    allowSimulated: values['allow-simulated'] ?? false,
    e2eeOnly: values.e2ee ?? false,
    acceptRelayAttacks: values['accept-relay-attacks'] ?? false,
    ...more,
    onVerified: (verification) => {
      terminal.note(verifiedLine(verification));
      more.onVerified?.(verification);
    },
    onEnclaveVerified: (verification) => {
      terminal.note(enclaveLine(verification));
      more.onEnclaveVerified?.(verification);
    },
  };
  const { 'self-signed': selfSigned = false, relay } = values;
  const { relaysPlainHttp } = terminal;
  const isolated = values.anonymous ?? false;
  const platform = asUsage(() => nodePlatform({ selfSigned, relay, isolated, relaysPlainHttp }));
  // The last of what can be wrong with the command line, because it takes money.
  const anonymous = values.anonymous ? await takeAnonymously(terminal, values) : undefined;
  let client: PrivateClient | undefined;
  try {
    const apiKey = anonymous?.key ?? readKey(terminal, values['key-file']);
    client = asUsage(() => makePrivateClient(platform, { ...options, apiKey }));
    const { session } = client;
    const exchange = values['prove-tool-calls'] ? proveToolCalls(client.exchange, { session }) : client.exchange;
    await session.verified();
    await anonymous?.deposit();
    const until = anonymous === undefined ? Number.POSITIVE_INFINITY : Date.now() + walletMs;
    return {
      ...client,
      exchange: endsAt(exchange, until),
      async leave() {
        session.close();
        await anonymous?.leave();
      },
    };
  } catch (error) {
    client?.session.close();
    await anonymous?.leave();
    if (!(error instanceof ClientError)) throw error;
    const isAway = error.message.includes('ECONNREFUSED');
    if (isAway) terminal.note(`Nothing answers at ${origin}. Is the service running?\n`);
    terminal.note(`${error.code}: ${error.message}\nSee \`sotto verify ${origin}\`.\n`);
    return exitCodeOf(error);
  }
}

const endsAt = (exchange: Exchange, until: number): Exchange => ({
  async ask(asked) {
    if (Date.now() >= until) throw new ClientError('wallet_expired');
    return exchange.ask(asked);
  },
});

function enclaveLine({ provider, model, verdict, relayAttacks }: EnclaveVerification): string {
  const warning = relayAttacks?.includes('read_content') ? ` ${relaySentence(relayAttacks)}` : '';
  return `checked the enclave of ${printable(provider)} for ${printable(model)}: ${verdict}.${warning}\n`;
}

function verifiedLine({ origin, verdict, teeType, binding, keySet, verifiedAt }: OriginVerification): string {
  const until = keySet === undefined ? '' : `, key set until ${new Date(keySet.not_after * 1000).toISOString()}`;
  const warning = teeType === 'simulated' ? ' SIMULATED: nothing is protected.' : '';
  return `${new Date(verifiedAt).toISOString()} checked ${origin}: ${verdict} (${teeType ?? 'none'}, binding ${binding}${until}).${warning}\n`;
}
