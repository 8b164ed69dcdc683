import { noteSkip, redisSkipReason, startOwnRedis } from '@sotto/test-servers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountsSuite } from './accounts.suite.ts';
import { apartSuite } from './apart.suite.ts';
import { contentSuite } from './content.suite.ts';
import { everywhereSuite } from './everywhere.suite.ts';
import { expectNoContentAnywhere } from './expect-no-content.ts';
import { plantedSuite } from './planted.suite.ts';
import { processesSuite } from './processes.suite.ts';
import { refusalsSuite } from './refusals.suite.ts';
import { type CanaryStage, openStage } from './stage.ts';

// Runs before the suite is declared, because the suite is skipped without Redis.
const redis = await startOwnRedis({ appendOnly: true });
if (redis === undefined) noteSkip('the canary', redisSkipReason);

describe.skipIf(redis === undefined)('the canary:', () => {
  let opened: CanaryStage | undefined;
  const stage = (): CanaryStage => {
    if (opened === undefined) throw new Error('the stage is there within tests and hooks only');
    return opened;
  };
  beforeAll(async () => {
    if (redis !== undefined) opened = await openStage(redis);
  });
  afterAll(async () => {
    await opened?.stop();
    await redis?.stop();
  });

  plantedSuite(stage);
  contentSuite(stage);
  accountsSuite(stage);
  refusalsSuite(stage);
  everywhereSuite(stage);
  apartSuite(stage);
  processesSuite(stage);

  it('in the end no sink holds any marker', async () => {
    expect(stage().provider.seen.length).toBeGreaterThan(100);
    await expectNoContentAnywhere(stage());
  });
});
