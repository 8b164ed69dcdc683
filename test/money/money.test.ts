import { describeInWorld } from '../kit/both-planes.ts';
import { isThorough } from '../kit/thoroughly.ts';
import { admissionSuite } from './admission.suite.ts';
import { meteringSuite } from './metering.suite.ts';
import { meteringEmbeddingsSuite } from './metering-embeddings.suite.ts';
import { meteringEndsSuite } from './metering-ends.suite.ts';
import { mixSuite } from './mix.suite.ts';
import { ledgerSuite, settlementsSuite } from './settlements.suite.ts';
import { type MoneyWorld, startMoneyWorld } from './world.ts';

const world = { start: startMoneyWorld, setupOf: ({ setup }: MoneyWorld) => setup };

await describeInWorld('money', world, (stage, which) => {
  admissionSuite(stage);
  meteringEndsSuite(stage);
  meteringEmbeddingsSuite(stage);
  // Runs after the others, because it examines what they left for the operator to pay.
  meteringSuite(stage);
  mixSuite(stage, which);
  ledgerSuite(stage);
  // Runs last, because it changes the operator's accounts.
  if (which === 'two') settlementsSuite(stage);
});

// Each of these keeps and books holds in its own way.
if (isThorough) await describeInWorld('money', world, mixSuite, { planes: ['one', 'cluster'] });
