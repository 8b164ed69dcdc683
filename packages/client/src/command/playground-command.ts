import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { builtPlayground } from '../built-playground.ts';
import { readOrigin } from '../origin.ts';
import { type PageFiles, readPage } from '../playground/page-files.ts';
import { playgroundHandler } from '../playground/playground-handler.ts';
import { VerificationLog } from '../playground/standing.ts';
import { listenLocally, newToken } from './local-proxy.ts';
import { openService } from './open-service.ts';
import { interrupted, readPort } from './proxy-command.ts';
import { anonymousHelp, anonymousOptions } from './purse-command.ts';
import { asUsage, requiredAddress, serviceHelp, serviceOptions } from './settings.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';

export const playgroundHelp = `sotto playground: chat with models on a page that this machine serves, not the control origin.

Open the address that the command prints. The page sends what you type to this command alone. The command verifies the service, keeps
your key, and sends your content through the private flow. The SHA-256 is of the page's files: compare it with the release's.

${serviceHelp}
  --port PORT          the port to listen on (default: any free one)
${anonymousHelp}

Exit codes: 0 stopped by Ctrl-C; 1 the verdict is too weak; 2 wrong command line; 3 no connection or no evidence.
`;

/** Runs `sotto playground`. */
export async function playgroundCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: { ...serviceOptions, ...anonymousOptions, port: { type: 'string' } },
  });
  const port = readPort(values.port ?? '0');
  const page = requirePage();
  const controlUrl = requiredAddress(terminal, '--control-url', values['control-url']);
  const { origin: controlOrigin } = asUsage(() => readOrigin('--control-url', controlUrl));
  const verifications = new VerificationLog();
  const client = await openService(terminal, values, verifications);
  if (typeof client === 'number') return client;
  const { exchange } = client;
  try {
    const token = newToken();
    const e2eeOnly = values.e2ee ?? false;
    const isOneProcess = await client.isOneProcess();
    const handler = playgroundHandler({
      ...{ page, exchange, token },
      standing: () => ({ controlOrigin, e2eeOnly, isOneProcess, ...verifications.newest }),
      onUnexpected: (name) => terminal.note(`A request failed: ${name}\n`),
    });
    const { server, origin } = await listenLocally(handler, port);
    const ended = interrupted(terminal, server);
    // The token is in the fragment, which browsers never send.
    terminal.out(`${origin}/#${token}\nSHA-256 of the page: ${page.sha256}\n`);
    await ended;
    return 0;
  } finally {
    // Also if the port is taken: an anonymous wallet is open by now.
    await client.leave();
  }
}

function requirePage(): PageFiles {
  const folder = fileURLToPath(builtPlayground);
  const page = readPage(folder);
  if (page !== undefined) return page;
  throw new UsageError(
    `The page is not in ${folder}. In a checkout, run \`npm run sotto -- playground\`, which builds it. Otherwise, install the package again.`,
  );
}
