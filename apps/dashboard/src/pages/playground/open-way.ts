import type { ClientPins, EnclaveVerification, OriginVerification } from '@sotto/client';
import { unreachable } from '../../api/call.ts';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { loadClient, shownError } from '../../verification/client.ts';
import type { Way } from './playground-search.ts';

export interface WayOptions {
  readonly way: Way;
  readonly key: string;
  /** Accepts simulated evidence of this very machine; the client refuses it everywhere else. */
  readonly allowSimulated: boolean;
  /** Machines that somebody accepts; else those of this build. */
  readonly pins: ClientPins | undefined;
}

/** What was verified for an answer. */
export interface Vouched {
  readonly gateway?: OriginVerification | undefined;
  readonly enclave?: EnclaveVerification | undefined;
}

export interface OpenWay {
  /** Sends JSON to a path of the confidential origin such as `/chat/completions`. Throws an error fit to be shown. */
  send(path: string, body: object, signal: AbortSignal): Promise<Response>;
  /** What the last request was sent on. */
  vouched(): Vouched;
}

/** Opens a way; what it verified is kept, so that the next request need not wait. */
export async function openWay({ way, key, allowSimulated, pins }: WayOptions): Promise<OpenWay> {
  if (way === 'compatibility') return { send: withKey(key), vouched: () => ({}) };
  const { createPrivateFetch, createE2eeChat } = await loadClient();
  let gateway: OriginVerification | undefined;
  let enclave: EnclaveVerification | undefined;
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
      enclave = verification;
    },
  };
  try {
    if (way === 'e2ee') {
      const ask = createE2eeChat(options);
      return {
        send: (_path, body, signal) => ask(body, { signal }).catch(rethrow(signal)),
        vouched: () => ({ gateway, enclave }),
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
      vouched: () => ({ gateway }),
    };
  } catch (error) {
    throw shownError(error);
  }
}

/** A failure of the connection itself has no words of its own. */
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
