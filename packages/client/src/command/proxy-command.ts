import type { Server } from 'node:http';
import { parseArgs } from 'node:util';
import { proxyInTheWay } from '../agents/index.ts';
import { readPrices } from '../bill/price-list.ts';
import { askForModels } from '../private/private-exchange.ts';
import { agentHelp, agentOptions } from './agent-options.ts';
import { readGuards } from './guard-options.ts';
import { localHost, newToken, readRule, startProxy } from './local-proxy.ts';
import { openService } from './open-service.ts';
import { RunCosts, readCostTerms } from './run-costs.ts';
import { type ExitCode, type Terminal, UsageError } from './terminal.ts';
import { readWarmCaches, withWarmCaches } from './warm-caches.ts';

export const proxyHelp = `sotto proxy: serve the verified private flow as an address on this machine.

Set the base URL of an OpenAI tool to http://127.0.0.1:4999/v1, ANTHROPIC_BASE_URL of Claude Code
and GOOGLE_GEMINI_BASE_URL of Gemini CLI to http://127.0.0.1:4999.
Set its API key to the token that the proxy prints, which is new at each start unless SOTTO_LOCAL_TOKEN has one. The proxy
refuses other programs, and never sends the token on.

A tool that uses a proxy of your network (HTTP_PROXY, ALL_PROXY, its own settings) would send prompts and the token to that
proxy in clear. Set NO_PROXY=127.0.0.1 for it.

  --port PORT          the port to listen on (default: 4999)
  --open               serve every program on this machine, without a token
${agentHelp('off')}

Exit codes: 0 stopped by Ctrl-C; 1 the verdict is too weak; 2 wrong command line; 3 no connection or no evidence.
`;

/** Time in ms that running answers get after the first Ctrl-C. A second Ctrl-C ends them at once. */
const drainMs = 10_000;

/** Runs `sotto proxy`. */
export async function proxyCommand(terminal: Terminal, args: readonly string[]): Promise<ExitCode> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      ...agentOptions,
      port: { type: 'string' },
      open: { type: 'boolean' },
    },
  });
  const port = readPort(values.port ?? '4999');
  const redacted = readGuards(terminal, values);
  const isWarm = readWarmCaches(values['warm-caches'], false);
  const terms = readCostTerms(values);
  const rules = (values.map ?? []).map(readRule);
  const client = await openService(terminal, values);
  if (typeof client === 'number') return client;
  const isMetered = terms.cap !== undefined || terms.billFile !== undefined;
  try {
    // Without prices, no savings are shown.
    const prices = isMetered ? (readPrices((await askForModels(client.exchange)).list)?.prices ?? []) : [];
    const costs = isMetered ? new RunCosts({ ...terms, terminal, client, prices, notesTurns: true }) : undefined;
    const exchange = withWarmCaches(isWarm, costs ?? client.exchange, client);
    const token = values.open ? undefined : terminal.environment.SOTTO_LOCAL_TOKEN || newToken();
    const { server, origin } = await startProxy(terminal, {
      ...{ exchange, rules, fallback: values.model, token, port, redacted },
    });
    const between = proxyInTheWay(terminal.environment, localHost);
    if (between !== undefined) {
      const missing =
        between.exempt === undefined ? 'NO_PROXY is not set' : `${between.exempt} does not list ${localHost}`;
      terminal.note(
        `${between.proxy} is set and ${missing}. A tool with these variables sends prompts and the token to that proxy in clear. Add ${localHost} to NO_PROXY and no_proxy of your tools.\n`,
      );
    }
    const ended = interrupted(terminal, server);
    terminal.out(`${origin}/v1\n${token === undefined ? '' : `API key: ${token}\n`}`);
    await ended;
    await costs?.end();
    return 0;
  } finally {
    // Also if the port is taken: an anonymous wallet is open by now.
    await client.leave();
  }
}

/** Reads `--port`. */
export function readPort(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new UsageError(`--port must be a number from 0 (any free port) to 65535; got "${text}".`);
}

/** Resolves when the server has stopped. After the first interrupt it waits up to `drainMs` for running answers. */
export function interrupted(terminal: Terminal, server: Server): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false;
    const stop = terminal.onInterrupt(() => {
      if (isStopping) return server.closeAllConnections();
      isStopping = true;
      terminal.note('Stopping. Running answers get some seconds to finish. Press Ctrl-C again to stop at once.\n');
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
