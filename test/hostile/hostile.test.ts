import { describeSuites } from '../failover/suite.ts';
import { framingSuite } from './framing.suite.ts';
import { providersSuite } from './providers.suite.ts';
import { requestsSuite } from './requests.suite.ts';
import { slowSuite } from './slow.suite.ts';

// In two processes, so that each has memory and descriptors of its own.
await describeSuites('hostile clients and providers', [framingSuite, requestsSuite, providersSuite, slowSuite], {
  planes: ['two'],
});
