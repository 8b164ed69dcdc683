import { describeStage } from '../../kit/stage/describe-stage.ts';
import { canarySuite } from './canary.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { moneySuite } from './money.suite.ts';
import { receiptsSuite } from './receipts.suite.ts';
import { refusalsSuite } from './refusals.suite.ts';
import { relayingSuite } from './relaying.suite.ts';
import { startSealed } from './world.ts';

await describeStage('end-to-end-encrypted chat', startSealed, (stage, which) => {
  relayingSuite(stage);
  refusalsSuite(stage);
  failuresSuite(stage);
  moneySuite(stage);
  receiptsSuite(stage);
  // A single process keeps its state in memory, so it has no Redis to search.
  if (which === 'two') canarySuite(stage);
});
