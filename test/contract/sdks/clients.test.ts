import { afterAll, beforeAll, expect, it } from 'vitest';
import { heldAnswers } from '../../kit/openai/watched-answer.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
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
import { sdkSpec } from './world.ts';

await describeStage('real clients', sdkSpec, (stage) => {
  let account: TestAccount;
  beforeAll(async () => {
    account = await stage.service.createAccount();
  });
  const world = {
    get service() {
      return stage.service;
    },
    get provider() {
      return stage.provider('acme');
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
    expect(await stage.service.settled(account)).toBeLessThan(10_000_000_000n);
  });

  it('send the provider none of their own headers', () => {
    const names = new Set(world.provider.seen.flatMap(({ headers }) => Object.keys(headers)));
    expect([...names].sort()).toEqual(
      ['accept', 'accept-encoding', 'connection', 'content-length', 'content-type', 'host'].sort(),
    );
    expect(world.provider.seen.length).toBeGreaterThan(50);
  });

  afterAll(() => expect(stage.service.logs()).not.toMatch(/héllo|RAW-PROVIDER-ERROR/));
});
