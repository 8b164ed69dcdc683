/** Our client is tested against a stand-in of the service, which answers as a test says. */

import { createPrivateFetch, type PrivateFetch, type PrivateFetchOptions } from '@sotto/client';
import { makePrivateFetch, nodePlatform } from '@sotto/client/testing';
import OpenAI from 'openai';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { useFolder } from '../../kit/folder.ts';
import { echo, type StandInService, startStandIn } from './stand-in.ts';

export const apiKey = 'sotto_inf_secret';
export const model = 'acme/small';
export const marker = 'CONTENT-MARKER';
export const messages = [{ role: 'user' as const, content: marker }];

/** A stand-in service and a folder for the tests of a file. Before each test the service forgets its requests. */
export class CommandStage {
  readonly folder = useFolder('client');
  #service: StandInService | undefined;

  constructor() {
    beforeAll(async () => {
      this.#service = await startStandIn();
    });
    beforeEach(() => {
      this.service.onBroker(echo);
      this.service.onControl(undefined);
      this.service.broker.splice(0);
      this.service.control.splice(0);
    });
    afterAll(async () => {
      await this.#service?.stop();
    });
  }

  get service(): StandInService {
    if (this.#service === undefined) throw new Error('the service runs within tests and hooks only');
    return this.#service;
  }

  /** Returns the arguments that point a command at the service. */
  atService(): string[] {
    const { baseUrl, controlUrl } = this.service;
    return ['--base-url', baseUrl, '--control-url', controlUrl, '--allow-simulated'];
  }
}

/** Private clients of a stand-in service. Clients and service end after each test. */
export class PrivateClients {
  #service: StandInService | undefined;
  readonly #made: { close(): void }[] = [];
  #refills: (() => Promise<unknown>)[] = [];

  constructor() {
    afterEach(async () => {
      this.#refills = [];
      for (const each of this.#made.splice(0)) each.close();
      await this.#service?.stop();
    });
  }

  get service(): StandInService {
    if (this.#service === undefined) throw new Error('start the service first');
    return this.#service;
  }

  async start(...options: Parameters<typeof startStandIn>): Promise<void> {
    this.#service = await startStandIn(...options);
  }

  privately(options: Partial<PrivateFetchOptions> & { selfSigned?: boolean; relay?: string } = {}) {
    const { selfSigned = false, relay, ...others } = options;
    if (relay === undefined) return this.#around(createPrivateFetch({ ...this.#toService, ...options }));
    // The control origin of the stand-in has no TLS.
    const platform = nodePlatform({ selfSigned, relay, relaysPlainHttp: true });
    return this.#around(makePrivateFetch(platform, { ...this.#toService, ...others }));
  }

  /** The same, with refills of tickets that wait for `refill`. */
  refilledByHand(options: Partial<PrivateFetchOptions>) {
    const schedule = (refill: () => Promise<unknown>): void => void this.#refills.push(refill);
    const platform = nodePlatform({ selfSigned: false });
    return this.#around(makePrivateFetch(platform, { ...this.#toService, ...options }, { schedule }));
  }

  /** Lets the time of the next refill come. Resolves when the client has read the tickets. */
  async refill(): Promise<void> {
    await Promise.all(this.#refills.splice(0).map((refill) => refill()));
  }

  get #toService() {
    const { controlUrl, baseUrl } = this.service;
    return { apiKey, controlOrigin: controlUrl, baseOrigin: baseUrl, allowSimulated: true };
  }

  #around(fetch: PrivateFetch) {
    const { baseUrl } = this.service;
    this.#made.push(fetch);
    // The SDK keeps its default retries.
    return {
      fetch,
      openai: new OpenAI({ apiKey: 'the key of the SDK', baseURL: baseUrl, fetch, organization: 'org-me' }),
    };
  }

  /** Requests a chat completion. */
  chat(fetch: PrivateFetch): Promise<Response> {
    const body = JSON.stringify({ model, messages });
    return fetch(`${this.service.baseUrl}/chat/completions`, { method: 'POST', body });
  }
}
