import { afterEach, beforeAll } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { answerChat, type SeenRequest } from '../../kit/provider.ts';
import type { Service, TestAccount } from '../../kit/service.ts';
import { acmeApiKey, startWorld, type World } from './world.ts';

/** What the tests of one concept work with; only within tests and hooks. */
export interface Suite {
  readonly service: Service;
  readonly world: World;
  /** Has 1000 USD. */
  readonly account: TestAccount;
  /** An account with 10 USD that nobody else uses; made beforehand, because each takes half a second to be known. */
  spareAccount(): TestAccount;
  /** A key of `account` that nobody else uses. */
  spareKey(): string;
  /** The last request that a provider was sent; default: acme. */
  lastSeen(provider?: string): SeenRequest;
  /** How many requests all providers together were sent. */
  readonly asked: number;
}

/** The tests of one concept. Concepts share a service because each start costs seconds. */
export type Concept = (suite: Suite) => void;

/** How many accounts and keys are made beforehand, for tests that need their own. */
export interface Spares {
  readonly accounts?: number;
  readonly keys?: number;
}

/** Runs concepts against one service, in every topology. */
export async function describeConformance(
  name: string,
  concepts: readonly Concept[],
  spares: Spares = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  let world: World | undefined;
  await describeInBothPlanes(
    name,
    async () => {
      const made = await startWorld(answerChat);
      world = made;
      const { registry, catalog } = made;
      return {
        registry,
        catalog,
        // Embedded mode has media on; here it is off as it is by default elsewhere.
        environment: { ACME_API_KEY: acmeApiKey, IMAGE_GENERATION: 'off', SPEECH_SYNTHESIS: 'off', ...environment },
        // Its vault is an enclave by name alone.
        enclaves: 'assumed',
        stop: () => made.stop(),
      };
    },
    (planes) => {
      let account: TestAccount | undefined;
      const accounts: TestAccount[] = [];
      const keys: string[] = [];
      const present = <T>(value: T | undefined): T => {
        if (value === undefined) throw new Error('none: either outside of tests and hooks, or more spares are needed');
        return value;
      };
      beforeAll(async () => {
        const { service } = planes;
        const made = service.createAccount({ usd: 1000 });
        const spare = Array.from({ length: spares.accounts ?? 0 }, () => service.createAccount());
        const owner = await made;
        const spareKeys = Array.from({ length: spares.keys ?? 0 }, () => service.createKey(owner));
        accounts.push(...(await Promise.all(spare)));
        keys.push(...(await Promise.all(spareKeys)));
        account = owner;
      });
      afterEach(() => world?.reset());
      const suite: Suite = {
        get service() {
          return planes.service;
        },
        get world() {
          return present(world);
        },
        get account() {
          return present(account);
        },
        spareAccount: () => present(accounts.pop()),
        spareKey: () => present(keys.pop()),
        lastSeen: (provider = 'acme') => {
          const seen = present(world).provider(provider).seen.at(-1);
          if (seen === undefined) throw new Error(`${provider} was not asked`);
          return seen;
        },
        get asked() {
          return ['acme', 'acme/eu', 'beta', 'hiddenco', 'vault', 'flaky'].reduce(
            (sum, id) => sum + present(world).provider(id).seen.length,
            0,
          );
        },
      };
      for (const concept of concepts) concept(suite);
    },
    { planes: ['two', 'one', 'cluster'] },
  );
}
