import type { ClientPins, EnclaveVerification, OriginVerification } from '@sotto/client';
import type { ShownEnclave, ShownGateway } from '@sotto/client/playground';
import type { PrivacyClass } from '@sotto/wire';
import { useRef } from 'react';
import { unreachable } from '../../api/errors.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { loadClient, shownError } from '../../verification/client.ts';
import type { Way } from './playground-search.ts';

export interface WayOptions {
  readonly way: Way;
  readonly key: string;
  /** Accepts simulated evidence of this machine. The client refuses it elsewhere. */
  readonly allowSimulated: boolean;
  /** The machines that the user accepts; default: those of this build. */
  readonly pins: ClientPins | undefined;
}

/** A route that takes content, without `/v1`. */
type ContentPath = '/chat/completions' | '/embeddings' | MediaPath;
export type MediaPath = '/images/generations' | '/audio/speech';

/** An answer: the requested model, and what the broker reports of it. */
export interface Answered {
  readonly model: string;
  readonly provider?: string | undefined;
  readonly tier?: PrivacyClass | undefined;
}

/** The verifications for an answer. */
export interface Vouched {
  readonly gateway?: ShownGateway | undefined;
  readonly enclave?: ShownEnclave | undefined;
}

export interface OpenWay {
  /** Sends JSON to a path of the confidential origin. Throws errors that pages can show. */
  send(path: ContentPath, body: object, signal: AbortSignal): Promise<Response>;
  /** The verifications behind an answer: of the broker, and of the enclave that the content was encrypted for, if it was. */
  vouched(answer: Answered): Promise<Vouched>;
}

/** The enclave that the content of an answer was encrypted for. Routes of other tiers take no encrypted content. */
export const enclaveOf = ({ model, provider, tier }: Answered, verified: readonly ShownEnclave[]) =>
  tier === 'e2ee' ? verified.find((enclave) => enclave.model === model && enclave.provider === provider) : undefined;

const nameOf = ({ model, provider }: EnclaveVerification): string => JSON.stringify([model, provider]);

/** Opens a way. It keeps its verification, so that the next request need not wait. */
async function openWay({ way, key, allowSimulated, pins }: WayOptions): Promise<OpenWay> {
  if (way === 'compatibility') return { send: withKey(key), vouched: async () => ({}) };
  const { createPrivateFetch, createE2eeChat } = await loadClient();
  let gateway: OriginVerification | undefined;
  // The client keeps enclaves that it has verified, so the last one need not be the one that answered.
  const enclaves = new Map<string, EnclaveVerification>();
  const options = {
    apiKey: key,
    controlOrigin,
    baseOrigin: confidentialOrigin,
    allowSimulated,
    ticketsAhead: 1,
    ...(pins === undefined ? {} : { pins }),
    onVerified: (verification: OriginVerification) => {
      gateway = verification;
    },
    onEnclaveVerified: (verification: EnclaveVerification) => {
      enclaves.set(nameOf(verification), verification);
    },
  };
  const vouched: OpenWay['vouched'] = async (answer) => ({
    gateway,
    enclave: enclaveOf(answer, [...enclaves.values()]),
  });
  try {
    if (way === 'e2ee') {
      const ask = createE2eeChat(options);
      return {
        send: (_path, body, signal) => ask(body, { signal }).catch(rethrow(signal)),
        vouched,
      };
    }
    const ask = createPrivateFetch(options);
    return {
      send: (path, body, signal) =>
        ask(`${confidentialOrigin}/v1${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
          signal,
        }).catch(rethrow(signal)),
      vouched,
    };
  } catch (error) {
    throw shownError(error);
  }
}

/** A failed connection throws a bare `TypeError`, without a sentence to show. */
const rethrow =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    if (signal.aborted) throw signal.reason;
    throw error instanceof TypeError ? unreachable() : shownError(error);
  };

const withKey =
  (key: string): OpenWay['send'] =>
  (path, body, signal) =>
    fetch(`${confidentialOrigin}/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
      redirect: 'error',
      credentials: 'omit',
      referrerPolicy: 'no-referrer',
      cache: 'no-store',
    }).catch(rethrow(signal));

/** Opens a way for a key when it is first needed, and keeps it while key and options stay the same. */
export function useWay(given: Omit<WayOptions, 'key'>): (key: string) => Promise<OpenWay> {
  const opened = useRef<{ readonly terms: string; readonly way: Promise<OpenWay> }>(undefined);
  return (key) => {
    const options = { ...given, key };
    const terms = JSON.stringify(options);
    if (opened.current?.terms !== terms) opened.current = { terms, way: openWay(options) };
    return opened.current.way;
  };
}
