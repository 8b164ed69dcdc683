import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ModelRule, readModelRule } from '@sotto/dialects';
import type { Exchange } from '../private/private-exchange.ts';
import { programsWith } from '../proxy/local-caller.ts';
import { proxyListeners } from '../proxy/proxy-handler.ts';
import type { ResponsesSockets } from '../proxy/responses-sockets.ts';
import type { Finding } from '../redaction/finding.ts';
import { redactChats } from '../redaction/redact-exchange.ts';
import { printableLine, type Terminal, UsageError } from './terminal.ts';

/** Options by which tools' names of models are translated, as `parseArgs` takes them. */
export const modelOptions = {
  map: { type: 'string', multiple: true },
  model: { type: 'string' },
} as const;

export const modelHelp = `  --map NAME=MODEL     the model for a name that a tool sends, such as 'claude-*=creator/model'; * stands for any text.
                       Repeat it for more names: the first that matches wins
  --model MODEL        the model for names that neither --map nor the catalog has`;

/** The only address that these servers listen on, so that other machines cannot reach them. */
export const localHost = '127.0.0.1';

/** A server that only this machine can reach. */
export interface LocalServer {
  readonly server: Server;
  /** Without a path, such as `http://127.0.0.1:4999`. */
  readonly origin: string;
}

/** Starts the proxy. Throws a `UsageError` if the port cannot be used. */
export async function startProxy(
  terminal: Terminal,
  options: {
    readonly exchange: Exchange;
    readonly rules: readonly ModelRule[];
    /** The model for names that no rule matches. */
    readonly fallback: string | undefined;
    readonly token: string | undefined;
    readonly port: number;
    /** The values that are always replaced. Undefined: nothing is. */
    readonly redacted: readonly Finding[] | undefined;
  },
): Promise<LocalServer> {
  const { exchange, rules, fallback, token, port, redacted } = options;
  const note = (text: string): void => terminal.note(`${printableLine(text)}\n`);
  const { onRequest, sockets } = proxyListeners({
    exchange: redacted === undefined ? exchange : redactChats(exchange, { known: redacted, note }),
    requireCaller: programsWith(token),
    models: { rules, fallback },
    onNote: note,
    onUnexpected: (name) => terminal.note(`A request failed: ${name}\n`),
  });
  return listen(new SocketServer(onRequest, sockets), port);
}

/** Other upgrades are answered as if they had not been asked for: some clients ask for HTTP/2 with each request. */
const asksForWebSocket = ({ headers }: IncomingMessage): boolean => headers.upgrade?.toLowerCase() === 'websocket';

/** A server whose WebSockets end with its other connections. Node no longer counts them among those. */
class SocketServer extends Server {
  readonly #sockets: ResponsesSockets;

  constructor(onRequest: RequestListener, sockets: ResponsesSockets) {
    super({ shouldUpgradeCallback: asksForWebSocket }, onRequest);
    this.#sockets = sockets;
    this.on('upgrade', (request, socket, head) => sockets.open(request, socket, head));
  }

  override closeIdleConnections(): void {
    super.closeIdleConnections();
    this.#sockets.closeIdle();
  }

  override closeAllConnections(): void {
    super.closeAllConnections();
    this.#sockets.closeAll();
  }
}

/** Starts a server for this machine alone. Port 0 is any free one. Throws a `UsageError` if the port cannot be used. */
export const listenLocally = (handler: RequestListener, port: number): Promise<LocalServer> =>
  listen(createServer(handler), port);

/** A token that only the server and the programs that it is for know. */
export const newToken = (): string => `sotto_local_${randomBytes(24).toString('base64url')}`;

/** Reads a `--map`. Throws a `UsageError` if it is malformed. */
export function readRule(text: string): ModelRule {
  const rule = readModelRule(text);
  if (rule !== undefined) return rule;
  throw new UsageError(`--map must be of the form NAME=creator/model; got "${text}".`);
}

function listen(server: Server, port: number): Promise<LocalServer> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        new UsageError(`Cannot listen on port ${port} (${error.code ?? error.name}). Choose another with --port.`),
      ),
    );
    server.listen(port, localHost, () => {
      const { port: taken } = server.address() as AddressInfo;
      resolve({ server, origin: `http://${localHost}:${taken}` });
    });
  });
}
