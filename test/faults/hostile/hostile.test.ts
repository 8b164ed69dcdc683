import { describeStage } from '../../kit/stage/describe-stage.ts';
import { joined } from '../../kit/stage/suites.ts';
import { bodiesSuite } from './bodies.suite.ts';
import { costlyBodiesSuite } from './costly-bodies.suite.ts';
import { framingSuite } from './framing.suite.ts';
import { providersSuite } from './providers.suite.ts';
import { requestsSuite } from './requests.suite.ts';
import { slowSuite } from './slow.suite.ts';

// Two processes have separate memory and descriptors, which the tests measure.
await describeStage(
  'hostile clients and providers',
  ...joined(framingSuite, requestsSuite, providersSuite, slowSuite, bodiesSuite, costlyBodiesSuite),
  { planes: ['two'] },
);
