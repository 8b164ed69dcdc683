import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { heldAnswers } from '../../kit/openai/watched-answer.ts';
import type { FakeProvider } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import { aiSdkSuite } from './ai-sdk.ts';
import { instructorSuite } from './instructor.ts';
import { langchainSuite } from './langchain.ts';
import { mastraSuite } from './mastra.ts';
import { mediaSuite } from './media.ts';
import { mistralSuite } from './mistral.ts';
import { openAiSuite } from './openai.ts';
import { openAiAgentsSuite } from './openai-agents.ts';
import { openRouterSuite } from './openrouter.ts';
import { startWorld } from './world.ts';

let provider: FakeProvider;

await describeInBothPlanes(
  'real clients',
  async () => {
    const world = await startWorld();
    ({ provider } = world);
    return world;
  },
  (planes) => {
    let account: TestAccount;
    beforeAll(async () => {
      account = await planes.service.createAccount();
    });
    const world = {
      get service() {
        return planes.service;
      },
      get provider() {
        return provider;
      },
      get inferenceKey() {
        return account.inferenceKey;
      },
      get managementKey() {
        return account.managementKey;
      },
    };
    openAiSuite(world);
    aiSdkSuite(world);
    langchainSuite(world);
    openAiAgentsSuite(world);
    mastraSuite(world);
    instructorSuite(world);
    openRouterSuite(world);
    mistralSuite(world);
    mediaSuite(world);

    it('get nothing but answers of OpenAI’s own schema', () => {
      const kinds = ['chat', 'chunk', 'embeddings', 'error', 'images', 'models'];
      expect([...heldAnswers.keys()].sort()).toEqual(kinds);
    });

    it('leave nothing held', async () => {
      expect(await planes.service.settled(account)).toBeLessThan(10_000_000_000n);
    });

    it('send the provider nothing of themselves', () => {
      const names = new Set(provider.seen.flatMap(({ headers }) => Object.keys(headers)));
      expect([...names].sort()).toEqual(
        ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'].sort(),
      );
      expect(provider.seen.length).toBeGreaterThan(50);
    });

    afterAll(() => expect(planes.service.logs()).not.toMatch(/héllo|RAW-PROVIDER-ERROR/));
  },
);
