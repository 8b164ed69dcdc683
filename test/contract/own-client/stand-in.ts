import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, Server as TlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { type SimulatedGateway, simulatedEvidence } from '@sotto/client/testing';
import { exportedValue, makeTlsKey, type TlsKey, tlsOptions } from '@sotto/confidential/testing';
import { sendJson as json } from '../../kit/provider.ts';

export { json };

/** A request as one of the origins received it. */
export interface Seen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

export type Answer = (seen: Seen, response: ServerResponse, request: IncomingMessage) => unknown;

/** Both origins of a service; a test decides every answer. The simulated evidence is honest by default. */
export interface StandInService {
  readonly controlUrl: string;
  readonly baseUrl: string;
  readonly baseOrigin: string;
  readonly control: Seen[];
  /** The requests to the confidential origin, without the calls for evidence. */
  readonly broker: Seen[];
  readonly evidenceCalls: () => number;
  readonly tickets: string[];
  /** The number of TLS connections that the confidential origin has completed. */
  readonly handshakes: () => number;
  onControl(answer: Answer | undefined): void;
  onBroker(answer: Answer): void;
  /** Returns the statement in the evidence. */
  readonly stated: () => SimulatedGateway;
  /** Changes the statement. */
  states(gateway: Partial<SimulatedGateway>): void;
  /** Replaces the whole evidence. */
  onEvidence(answer: ((nonce: string) => unknown) | undefined): void;
  /** Serves new connections with another key. The evidence names it only if `named` is true. */
  changeKey(options: { readonly named: boolean }): Promise<void>;
  stop(): Promise<void>;
}

const day = 86_400_000;

export interface StandInOptions {
  readonly tls?: boolean;
  /** Whether the confidential origin binds its evidence to connections. Needs TLS. */
  readonly bindsChannels?: boolean;
  /** Whether pages of other origins may read the answers. */
  readonly forPages?: boolean;
}

export async function startStandIn({
  tls = false,
  bindsChannels = false,
  forPages = false,
}: StandInOptions = {}): Promise<StandInService> {
  const control: Seen[] = [];
  const broker: Seen[] = [];
  const tickets: string[] = [];
  let evidenceCalls = 0;
  let handshakes = 0;
  let onControl: Answer | undefined;
  let onBroker: Answer = (_, response) => json(response, 200, { ok: true });
  let onEvidence: ((nonce: string) => unknown) | undefined;
  const newKey = (): Promise<TlsKey> => makeTlsKey('127.0.0.1', { from: Date.now() - day, until: Date.now() + day });
  let key = await newKey();

  /**
   * Allows pages of other origins, if enabled. Returns true if the request was a CORS preflight, which is then
   * answered.
   */
  const lets = ({ method }: IncomingMessage, response: ServerResponse): boolean => {
    if (!forPages) return false;
    response.setHeader('access-control-allow-origin', '*');
    response.setHeader('access-control-allow-headers', 'authorization, content-type, x-router-ticket');
    if (method === 'OPTIONS') response.writeHead(204).end();
    return method === 'OPTIONS';
  };
  const controlServer = createServer(async (request, response) => {
    if (lets(request, response)) return;
    const seen = await see(request);
    control.push(seen);
    if (onControl !== undefined) return void onControl(seen, response, request);
    if (seen.path === '/v1/models')
      return json(response, 200, {
        object: 'list',
        data: [{ id: 'acme/small', object: 'model', provider_routes: [] }],
      });
    if (seen.path === '/v1/capabilities') return json(response, 200, { separate_processes: { enabled: false } });
    const { count } = JSON.parse(seen.text) as { count?: number };
    const minted = Array.from({ length: count ?? 1 }, (_, at) => `ticket-${tickets.length + at + 1}`);
    tickets.push(...minted);
    json(response, 200, {
      ticket: minted[0],
      ...(count === undefined ? {} : { tickets: minted }),
      privacy_class: 'private',
      expires_at: new Date(Date.now() + 300_000).toISOString(),
    });
  });
  let gateway: SimulatedGateway;
  const brokerHandler = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (lets(request, response)) return;
    const seen = await see(request);
    const [, nonce, asked] = /^\/v1\/gateway\/attestation\?nonce=(\w+)(&binding=channel)?$/.exec(seen.path) ?? [];
    if (nonce === undefined) {
      broker.push(seen);
      return void onBroker(seen, response, request);
    }
    evidenceCalls += 1;
    const exporter = bindsChannels && asked !== undefined ? exportedValue(request.socket) : undefined;
    const own = onEvidence?.(nonce) ?? simulatedEvidence(nonce, gateway, exporter);
    json(response, 200, await own);
  };
  const certified = () => ({ ...tlsOptions, key: key.keyPem, cert: key.certificatePem });
  const brokerServer = tls ? createTlsServer(certified(), brokerHandler) : createServer(brokerHandler);
  brokerServer.on('secureConnection', () => {
    handshakes += 1;
  });
  await Promise.all([listen(controlServer), listen(brokerServer)]);
  const controlOrigin = `http://127.0.0.1:${portOf(controlServer)}`;
  const baseOrigin = `${tls ? 'https' : 'http'}://127.0.0.1:${portOf(brokerServer)}`;
  // The key set stays the same until a key changes, as a broker's does.
  const notAfter = Math.floor((Date.now() + day) / 1000);
  gateway = { origin: baseOrigin, spkiSha256: tls ? [key.spkiSha256] : [], notAfter, bindsChannels };
  return {
    controlUrl: `${controlOrigin}/v1`,
    baseUrl: `${baseOrigin}/v1`,
    baseOrigin,
    control,
    broker,
    tickets,
    evidenceCalls: () => evidenceCalls,
    handshakes: () => handshakes,
    onControl: (answer) => {
      onControl = answer;
    },
    onBroker: (answer) => {
      onBroker = answer;
    },
    stated: () => gateway,
    states: (stated) => {
      gateway = { ...gateway, ...stated };
    },
    onEvidence: (answer) => {
      onEvidence = answer;
    },
    async changeKey({ named }) {
      key = await newKey();
      if (named) gateway = { ...gateway, spkiSha256: [key.spkiSha256] };
      if (brokerServer instanceof TlsServer) brokerServer.setSecureContext(certified());
    },
    async stop() {
      for (const server of [controlServer, brokerServer]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
}

export const refusal = (type: string): object => ({ error: { message: `It is ${type}.`, type, request_id: 'req_1' } });

export function completion(content: string): object {
  const message = { role: 'assistant', content };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'acme/small',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  };
}

const chunkOf = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'acme/small', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/** Answers with the last message of the request, whole or streamed. */
export const echo: Answer = ({ text }, response) => {
  const body = JSON.parse(text) as { stream?: boolean; messages: { content: string }[] };
  const said = `You said: ${body.messages.at(-1)?.content}`;
  if (body.stream !== true) return json(response, 200, completion(said));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunkOf({ role: 'assistant' }));
  for (const word of said.match(/\s*\S+/g) ?? []) response.write(chunkOf({ content: word }));
  response.end(`${chunkOf({}, 'stop')}data: [DONE]\n\n`);
};

async function see(request: IncomingMessage): Promise<Seen> {
  const pieces: Buffer[] = await request.toArray();
  return { path: request.url ?? '', headers: request.headers, text: Buffer.concat(pieces).toString() };
}

const listen = (server: Server): Promise<void> => new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const portOf = (server: Server): number => (server.address() as AddressInfo).port;
