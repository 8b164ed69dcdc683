import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { proxyHandler } from '../proxy/proxy-handler.ts';
import { openService } from './open-service.ts';
import { serviceHelp, serviceOptions } from './settings.ts';
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
  const client = await openService(terminal, values);
  if (typeof client === 'number') return client;
  const { exchange, session } = client;
  const onUnexpected = (name: string): void => terminal.note(`A request failed: ${name}\n`);
  const server = createServer(proxyHandler({ exchange, onUnexpected }));
  const address = await listen(server, port);
  const ended = interrupted(terminal, server);
  terminal.out(`http://127.0.0.1:${address.port}/v1\n`);
  await ended;
  session.close();
  return 0;
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
