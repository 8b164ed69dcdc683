/** Sealed requests need more than a catalog: providers that decrypt them as enclaves do, and record what they saw. */

import type { ServerResponse } from 'node:http';
import {
  type EnclaveAnswer,
  type StandInEnclave,
  type StandInKind,
  standInEnclave,
  standInKinds,
  standInModel,
} from '@sotto/client/testing';
import type { E2eeFamilyName } from '@sotto/wire';
import { beforeAll, beforeEach, expect } from 'vitest';
import { type ReceivedRequest, startProviderServer } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import type { StageSpec } from '../../kit/stage/spec.ts';
import type { Stage } from '../../kit/stage/stage.ts';

/** A request as an enclave's provider received it. */
export interface SealedSeen extends ReceivedRequest {
  /** The enclave's answer. */
  answer: EnclaveAnswer | undefined;
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
  /** Replaces its handler until `reset`. */
  answer(handler: SealedHandler): void;
  reset(): void;
}

/** What a stage has besides the service and the provider of plaintext, `plain`: a provider of every scheme. */
export interface SealedProviders {
  readonly providers: readonly SealedProvider[];
  provider(kind: StandInKind): SealedProvider;
}

export const contextLength = 20_000;
export const outputLimit = 2_000;
/** USD per million tokens. */
export const price = { input: 2, output: 10 } as const;
/** The price of the dearer model at the address of `tinfoil`. */
export const dearerPrice = { input: 3, output: 30 } as const;
/** The key of the providers at our own account. No log may contain it. */
export const providerKey = 'sk-of-the-operator';

const familyOf = (kind: StandInKind): E2eeFamilyName => kind.split('-')[0] as E2eeFamilyName;
const modelOf = (kind: StandInKind): string => `sealed/${kind}`;

/** Starts one provider for every scheme that the client speaks, each behind a real HTTP server. */
export async function startSealed() {
  const started = await Promise.all(standInKinds.map(startSealedProvider));
  const providers = started.map(({ provider }) => provider);
  const timeouts = { connect_ms: 1000, first_byte_ms: 1000, idle_ms: 1500, total_ms: 6000 };
  return {
    providers: {
      plain: {},
      ...Object.fromEntries(
        started.map(({ provider: { kind, family }, server }) => [
          kind,
          { server, privacy: 'e2ee', api_key_env: 'SEALED_KEY', attestation: { family }, timeouts },
        ]),
      ),
    },
    models: {
      ...Object.fromEntries(
        providers.map(({ kind, model, enclave }) => [
          model,
          { routes: { [kind]: { upstream: upstreamOf(enclave), pricing: price } } },
        ]),
      ),
      'plain/model': { routes: { plain: { pricing: price } } },
      'sealed/dearer': {
        routes: { tinfoil: { upstream: 'another', pricing: dearerPrice } },
        max_output_tokens: outputLimit * 2,
      },
    },
    limits: { context_length: contextLength, max_output_tokens: outputLimit },
    environment: { SEALED_KEY: providerKey, LOG_LEVEL: 'trace' },
    standIns: {
      providers,
      provider: (kind) =>
        providers.find((provider) => provider.kind === kind) ?? expect.unreachable(`there is no ${kind}`),
    },
  } satisfies StageSpec<SealedProviders>;
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
  // The broker asks for the enclave's signature afterwards. These enclaves have none.
  const server = await startProviderServer((request, response) => {
    const recorded: SealedSeen = { ...request, answer: undefined };
    seen.push(recorded);
    void current(recorded, response);
  });
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
  return { provider, server };
}

/** The enclave's answer to a request, which is recorded with the request. */
export async function answerOf(enclave: StandInEnclave, request: SealedSeen): Promise<EnclaveAnswer> {
  const headers: Record<string, string | undefined> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
  const answer = await enclave.answer({ headers, body: request.bytes });
  request.answer = answer;
  return answer;
}

/** Writes an answer in pieces whose lengths are unrelated to its structure. */
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

/** The environment of a suite about sealed requests. Use it only within tests and hooks. */
export type SealedStage = Stage<SealedProviders>;

/**
 * Gives the surrounding suite an account of 100 USD, and each of its tests providers that answer as usual. Use the
 * account only within tests and hooks.
 */
export function beginSuite(stage: SealedStage): TestAccount {
  const account = {} as TestAccount;
  beforeAll(async () => {
    Object.assign(account, await stage.service.createAccount({ usd: 100 }));
  });
  beforeEach(() => {
    for (const provider of stage.standIns.providers) provider.reset();
  });
  return account;
}
