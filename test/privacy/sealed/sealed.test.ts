import { describeInWorld } from '../../kit/both-planes.ts';
import { canarySuite } from './canary.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { moneySuite } from './money.suite.ts';
import { receiptsSuite } from './receipts.suite.ts';
import { refusalsSuite } from './refusals.suite.ts';
import { relayingSuite } from './relaying.suite.ts';
import { startSealedWorld } from './world.ts';

await describeInWorld(
  'end-to-end-encrypted chat',
  { start: startSealedWorld, setupOf: (world) => world },
  (stage, which) => {
    relayingSuite(stage);
    refusalsSuite(stage);
    failuresSuite(stage);
    moneySuite(stage);
    receiptsSuite(stage);
    // A single process keeps its state in memory, so it has no Redis to search.
    if (which === 'two') canarySuite(stage);
  },
);
