import { describeSuites } from '../../routing/failover/suite.ts';
import { bodiesSuite } from './bodies.suite.ts';
import { costlyBodiesSuite } from './costly-bodies.suite.ts';
import { framingSuite } from './framing.suite.ts';
import { providersSuite } from './providers.suite.ts';
import { requestsSuite } from './requests.suite.ts';
import { slowSuite } from './slow.suite.ts';

// In two processes, so that each has memory and descriptors of its own.
await describeSuites(
  'hostile clients and providers',
  [framingSuite, requestsSuite, providersSuite, slowSuite, bodiesSuite, costlyBodiesSuite],
  {
    planes: ['two'],
  },
);
