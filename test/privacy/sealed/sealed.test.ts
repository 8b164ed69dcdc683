import { describeInBothPlanes } from '../../kit/both-planes.ts';
import { canarySuite } from './canary.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { moneySuite } from './money.suite.ts';
import { receiptsSuite } from './receipts.suite.ts';
import { refusalsSuite } from './refusals.suite.ts';
import { relayingSuite } from './relaying.suite.ts';
import type { SealedStage } from './suite.ts';
import { type SealedWorld, startSealedWorld } from './world.ts';

let world: SealedWorld | undefined;

await describeInBothPlanes(
  'end-to-end-encrypted chat',
  async () => {
    world = await startSealedWorld();
    return world;
  },
  (planes, which) => {
    const stage: SealedStage = {
      get service() {
        return planes.service;
      },
      get world() {
        if (world === undefined) throw new Error('the enclaves run within tests and hooks only');
        return world;
      },
    };
    relayingSuite(stage);
    refusalsSuite(stage);
    failuresSuite(stage);
    moneySuite(stage);
    receiptsSuite(stage);
    // What one process alone knows of is nobody's sink.
    if (which === 'two') canarySuite(stage);
  },
);
