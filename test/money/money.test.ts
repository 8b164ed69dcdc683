import { describeStage } from '../kit/stage/describe-stage.ts';
import { isThorough } from '../kit/thoroughly.ts';
import { admissionSuite } from './admission.suite.ts';
import { meteringSuite } from './metering.suite.ts';
import { meteringEmbeddingsSuite } from './metering-embeddings.suite.ts';
import { meteringEndsSuite } from './metering-ends.suite.ts';
import { mixSuite } from './mix.suite.ts';
import { ledgerSuite, settlementsSuite } from './settlements.suite.ts';
import { moneySpec } from './spec.ts';

await describeStage('money', moneySpec, (stage, which) => {
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
if (isThorough) await describeStage('money', moneySpec, mixSuite, { planes: ['one', 'cluster'] });
