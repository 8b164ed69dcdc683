import { beforeAll } from 'vitest';
import { describeInBothPlanes } from '../kit/both-planes.ts';
import { filesOf, providerEntry } from '../kit/catalog.ts';
import { type ScriptedProvider, startScriptedProvider } from '../kit/scripted-provider.ts';
import type { Service, TestAccount } from '../kit/service.ts';
import { catalogWith, pricing } from '../kit/stage.ts';

/** Two processes with one provider. Use it only within tests and hooks. */
export interface TwoProcesses {
  readonly service: Service;
  readonly provider: ScriptedProvider;
  /** This account has 1000 USD. */
  readonly account: TestAccount;
}

/** Runs tests that need a broker and a control on one Redis, and no other models than `m/one`. */
export async function describeTwoProcesses(name: string, ...suites: ((stage: TwoProcesses) => void)[]): Promise<void> {
  const stage = {} as { provider: ScriptedProvider; account: TestAccount };
  await describeInBothPlanes(
    name,
    async () => {
      const provider = await startScriptedProvider('alpha');
      stage.provider = provider;
      // A gated request lasts for as long as a busy machine takes to reload the catalog.
      const entry = providerEntry('alpha', provider.baseUrl, { timeouts: { first_byte_ms: 120_000 } });
      return { ...filesOf([entry], []), catalog: catalogWith(pricing), stop: () => provider.stop() };
    },
    (planes) => {
      beforeAll(async () => {
        stage.account = await planes.service.createAccount({ usd: 1000 });
      });
      const reader = {
        get service() {
          return planes.service;
        },
        get provider() {
          return stage.provider;
        },
        get account() {
          return stage.account;
        },
      };
      for (const suite of suites) suite(reader);
    },
    { planes: ['two'] },
  );
}
