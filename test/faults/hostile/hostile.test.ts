import { describeSuites } from '../../kit/scenes/suite.ts';
import { bodiesSuite } from './bodies.suite.ts';
import { costlyBodiesSuite } from './costly-bodies.suite.ts';
import { framingSuite } from './framing.suite.ts';
import { providersSuite } from './providers.suite.ts';
import { requestsSuite } from './requests.suite.ts';
import { slowSuite } from './slow.suite.ts';

// Two processes have separate memory and descriptors, which the tests measure.
await describeSuites(
  'hostile clients and providers',
  [framingSuite, requestsSuite, providersSuite, slowSuite, bodiesSuite, costlyBodiesSuite],
  {
    planes: ['two'],
  },
);
