import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type EnclaveAnswer,
  type StandInEnclave,
  type StandInKind,
  standInEnclave,
  standInKinds,
  standInModel,
} from '@sotto/client/testing';
import type { E2eeFamilyName } from '@sotto/wire';
import type { PlanesSetup } from '../../kit/both-planes.ts';
import { type FakeProvider, startProvider } from '../../kit/provider.ts';

/** A request as an enclave's provider got it. */
export interface SealedSeen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** What the enclave answered. */
  answer: EnclaveAnswer | undefined;
  /** Resolves when its connection is closed by the other side, or its answer has left. */
  readonly closed: Promise<void>;
}

export type SealedHandler = (request: SealedSeen, response: ServerResponse) => void | Promise<void>;

/** A provider whose model runs in a stand-in enclave. */
export interface SealedProvider {
  readonly kind: StandInKind;
  readonly family: E2eeFamilyName;
  readonly enclave: StandInEnclave;
  /** The canonical id of its model. */
  readonly model: string;
  readonly seen: readonly SealedSeen[];
  /** Replaces how it answers until `reset`. */
  answer(handler: SealedHandler): void;
  reset(): void;
}

export interface SealedWorld extends PlanesSetup {
  readonly providers: readonly SealedProvider[];
  provider(kind: StandInKind): SealedProvider;
  /** A provider of plaintext, and its model `plain/model`. */
  readonly plain: FakeProvider;
  stop(): Promise<void>;
}

export const contextLength = 20_000;
export const outputLimit = 2_000;
/** USD per million tokens. */
export const price = { input: 2, output: 10 } as const;
/** What the dearer model at the address of `tinfoil` costs. */
export const dearerPrice = { input: 3, output: 30 } as const;
/** The marker of what must be in no log: key of the providers at our own account. */
export const providerKey = 'sk-of-the-operator';

const familyOf = (kind: StandInKind): E2eeFamilyName => kind.split('-')[0] as E2eeFamilyName;
export const modelOf = (kind: StandInKind): string => `sealed/${kind}`;

/** One provider for every scheme that the client speaks, each behind a real HTTP server. */
export async function startSealedWorld(): Promise<SealedWorld> {
  const started = await Promise.all(standInKinds.map(startSealedProvider));
  const plain = await startProvider();
  const providers = started.map(({ provider }) => provider);
  return {
    registry: JSON.stringify({
      providers: [
        { id: 'plain', name: 'plain', adapter: 'openai', base_url: plain.baseUrl, privacy_class: 'private' },
        ...started.map(({ provider: { kind, family }, baseUrl }) => ({
          id: kind,
          name: kind,
          adapter: 'openai',
          base_url: baseUrl,
          api_key_env: 'SEALED_KEY',
          privacy_class: 'e2ee',
          attestation: { family },
          timeouts: { connect_ms: 1000, first_byte_ms: 1000, idle_ms: 1500, total_ms: 6000 },
        })),
      ],
    }),
    catalog: JSON.stringify({
      models: [
        ...providers.map(({ kind, model, enclave }) => ({
          id: model,
          model_type: 'text',
          context_length: contextLength,
          max_output_tokens: outputLimit,
          routes: [{ provider: kind, upstream_model: upstreamOf(enclave), privacy_class: 'e2ee', pricing: price }],
        })),
        {
          id: 'plain/model',
          model_type: 'text',
          context_length: contextLength,
          routes: [{ provider: 'plain', upstream_model: 'p', privacy_class: 'private', pricing: price }],
        },
        {
          id: 'sealed/dearer',
          model_type: 'text',
          context_length: contextLength,
          max_output_tokens: outputLimit * 2,
          routes: [{ provider: 'tinfoil', upstream_model: 'another', privacy_class: 'e2ee', pricing: dearerPrice }],
        },
      ],
    }),
    environment: { SEALED_KEY: providerKey, LOG_LEVEL: 'trace' },
    plain,
    providers,
    provider(kind) {
      const found = providers.find((provider) => provider.kind === kind);
      if (found === undefined) throw new Error(`there is no ${kind}`);
      return found;
    },
    async stop() {
      await plain.stop();
      for (const { stop } of started) await stop();
    },
  };
}

/** Routes to a chute name it beside the model. */
function upstreamOf(enclave: StandInEnclave): string {
  const key = enclave.nextKey();
  return key.family === 'chutes' ? `${standInModel}@${key.chuteId}` : standInModel;
}

async function startSealedProvider(kind: StandInKind) {
  const enclave = standInEnclave(kind);
  const seen: SealedSeen[] = [];
  const usual: SealedHandler = async (request, response) => writeAnswer(response, await answerOf(enclave, request));
  let current = usual;
  const server = createServer((request, response) => {
    // The broker asks for the enclave's signature afterwards; these have none.
    if (request.method === 'GET') {
      response.writeHead(404).end();
      return;
    }
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const recorded: SealedSeen = {
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(pieces),
        answer: undefined,
        closed: new Promise((resolve) => response.once('close', () => resolve())),
      };
      seen.push(recorded);
      void current(recorded, response);
    });
    request.on('error', () => {});
    response.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const provider: SealedProvider = {
    kind,
    family: familyOf(kind),
    enclave,
    model: modelOf(kind),
    seen,
    answer(handler) {
      current = handler;
    },
    reset() {
      current = usual;
      seen.length = 0;
    },
  };
  return {
    provider,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    async stop() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What the enclave says to a request; kept with it. */
export async function answerOf(enclave: StandInEnclave, request: SealedSeen): Promise<EnclaveAnswer> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  const answer = await enclave.answer({ headers, body: request.body });
  request.answer = answer;
  return answer;
}

/** Writes an answer in pieces of lengths that have nothing to do with its own. */
async function writeAnswer(response: ServerResponse, { status, headers, pieces }: EnclaveAnswer): Promise<void> {
  response.writeHead(status, { ...headers, 'x-own-header': 'own-name' });
  const bytes = Buffer.concat(pieces);
  for (let at = 0; at < bytes.length && !response.destroyed; ) {
    const size = 1 + Math.floor(Math.random() * 700);
    await new Promise((resolve) => response.write(bytes.subarray(at, at + size), resolve));
    at += size;
  }
  response.end();
}
