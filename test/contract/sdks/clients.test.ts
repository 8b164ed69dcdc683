import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { heldAnswers } from '../../kit/openai/watched-answer.ts';
import type { FakeProvider } from '../../kit/provider.ts';
import type { TestAccount } from '../../kit/service.ts';
import { aiSdkSuite } from './ai-sdk.ts';
import { anthropicSuite } from './anthropic.ts';
import { instructorSuite } from './instructor.ts';
import { langchainSuite } from './langchain.ts';
import { mastraSuite } from './mastra.ts';
import { mediaSuite } from './media.ts';
import { mistralSuite } from './mistral.ts';
import { openAiSuite } from './openai.ts';
import { openAiAgentsSuite } from './openai-agents.ts';
import { openAiResponsesSuite } from './openai-responses.ts';
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
    openAiResponsesSuite(world);
    anthropicSuite(world);
    aiSdkSuite(world);
    langchainSuite(world);
    openAiAgentsSuite(world);
    mastraSuite(world);
    instructorSuite(world);
    openRouterSuite(world);
    mistralSuite(world);
    mediaSuite(world);

    it('get only answers that match OpenAI’s schema', () => {
      const kinds = ['chat', 'chunk', 'embeddings', 'error', 'images', 'models', 'response'];
      expect([...heldAnswers.keys()].sort()).toEqual(kinds);
    });

    it('leave no hold behind', async () => {
      expect(await planes.service.settled(account)).toBeLessThan(10_000_000_000n);
    });

    it('send the provider none of their own headers', () => {
      const names = new Set(provider.seen.flatMap(({ headers }) => Object.keys(headers)));
      expect([...names].sort()).toEqual(
        ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'].sort(),
      );
      expect(provider.seen.length).toBeGreaterThan(50);
    });

    afterAll(() => expect(planes.service.logs()).not.toMatch(/héllo|RAW-PROVIDER-ERROR/));
  },
);
