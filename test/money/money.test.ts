import { describeInBothPlanes } from '../kit/both-planes.ts';
import { admissionSuite } from './admission.suite.ts';
import { meteringSuite } from './metering.suite.ts';
import { mixSuite } from './mix.suite.ts';
import { ledgerSuite, settlementsSuite } from './settlements.suite.ts';
import { type MoneyStage, type MoneyWorld, startMoneyWorld } from './world.ts';

let world: MoneyWorld | undefined;

await describeInBothPlanes(
  'money',
  async () => {
    world = await startMoneyWorld();
    return world.setup;
  },
  (planes, which) => {
    const stage: MoneyStage = {
      get service() {
        return planes.service;
      },
      get world() {
        if (world === undefined) throw new Error('the providers run within tests and hooks only');
        return world;
      },
    };
    admissionSuite(stage);
    meteringSuite(stage);
    mixSuite(stage, which);
    ledgerSuite(stage);
    // Last: it leaves its traces in the operator's accounts.
    if (which === 'two') settlementsSuite(stage);
  },
);
