import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { ClientError } from '../errors.ts';
import type { OriginVerification } from '../gateway/verify-origin.ts';
import { readOrigin } from '../origin.ts';
import { nodePlatform } from '../platform/node-platform.ts';
import { makePrivateClient } from '../private/create-private-fetch.ts';
import { proxyHandler } from '../proxy/proxy-handler.ts';
import { asUsage, readKey, readPinsFile, readVerdict, required, serviceHelp, serviceOptions } from './settings.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';

export const proxyHelp = `sotto proxy: an OpenAI-compatible address on this machine that speaks the private flow.

Set the base address of any tool to http://127.0.0.1:4999/v1; the key that the tool sends is dropped. Whoever can run programs
on this machine can use it.

${serviceHelp}
  --port PORT          of the listener (default: 4999)

Exit codes: 0 ended by Ctrl-C; 1 the service is not verified as required; 2 the call is wrong; 3 the service cannot be reached.
`;

/** How long answers that run may take to end after the first Ctrl-C. The second one ends them at once. */
const drainMs = 10_000;

/** `sotto proxy`. */
export async function proxyCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values } = parseArgs({ args: [...args], options: { ...serviceOptions, port: { type: 'string' } } });
  const port = readPort(values.port ?? '4999');
  const baseOrigin = required('--base-url', values['base-url']);
  const controlOrigin = required('--control-url', values['control-url']);
  const { origin } = asUsage(() => readOrigin('--base-url', baseOrigin));
  asUsage(() => readOrigin('--control-url', controlOrigin));
  const { exchange, session } = makePrivateClient(nodePlatform({ selfSigned: values['self-signed'] ?? false }), {
    apiKey: readKey(terminal, values['key-file']),
    controlOrigin,
    baseOrigin,
    pins: readPinsFile(values.pins),
    minimumVerdict: readVerdict('--require', values.require, 'hardware_verified'),
    allowSimulated: values['allow-simulated'] ?? false,
    onVerified: (verification) => terminal.note(verifiedLine(verification)),
  });
  try {
    await session.verified();
  } catch (error) {
    if (!(error instanceof ClientError)) throw error;
    terminal.note(`${error.code}: ${error.message}\nSee \`sotto verify ${origin}\`.\n`);
    return error.code === 'attestation_unavailable' ? 3 : 1;
  }
  const onUnexpected = (name: string): void => terminal.note(`A request failed: ${name}\n`);
  const server = createServer(proxyHandler({ exchange, onUnexpected }));
  const address = await listen(server, port);
  const ended = interrupted(terminal, server);
  terminal.out(`http://127.0.0.1:${address.port}/v1\n`);
  await ended;
  session.close();
  return 0;
}

function verifiedLine({ origin, verdict, teeType, keySet, verifiedAt }: OriginVerification): string {
  const until = keySet === undefined ? '' : `, key set until ${new Date(keySet.not_after * 1000).toISOString()}`;
  const warning = teeType === 'simulated' ? ' SIMULATED: nothing is protected.' : '';
  return `${new Date(verifiedAt).toISOString()} verified ${origin}: ${verdict} (${teeType ?? 'none'}${until}).${warning}\n`;
}

function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 (any free one) to 65535; got "${text}".`);
}

function listen(server: Server, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new UsageError(`Port ${port} cannot be listened on (${error.code ?? error.name}): choose another with --port.`),
      ),
    );
    // Only this machine can reach it.
    server.listen(port, '127.0.0.1', () => resolve(server.address() as AddressInfo));
  });
}

/** Resolves when the server was told to stop and has: answers that run are waited for, once. */
function interrupted(terminal: Terminal, server: Server): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = terminal.onInterrupt(() => {
      if (isStopping) return server.closeAllConnections();
      isStopping = true;
      const timer = setTimeout(() => server.closeAllConnections(), drainMs);
      server.close(() => {
        clearTimeout(timer);
        stop();
        resolve();
      });
      server.closeIdleConnections();
    });
  });
}
