import { isThorough } from '../../kit/both-planes.ts';
import { describeSuites } from '../../kit/scenes/suite.ts';
import { brokenStreamsSuite } from './broken-streams.suite.ts';
import { choosingSuite } from './choosing.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { leavingSuite } from './leaving.suite.ts';
import { policySuite } from './policy.suite.ts';
import { pressureSuite } from './pressure.suite.ts';
import { streamDialectsSuite } from './stream-dialects.suite.ts';
import { providerKey, transportSuite } from './transport.suite.ts';

await describeSuites('routing', [policySuite, choosingSuite]);
await describeSuites('failover', [failuresSuite, brokenStreamsSuite, leavingSuite], {
  environment: { KEYED_API_KEY: providerKey },
});
// The attempts of a request share its ticket and its hold, which each topology keeps in its own way.
if (isThorough) await describeSuites('failover', [brokenStreamsSuite], { planes: ['one', 'cluster'] });
// The kind of planes does not matter here, because only the broker calls providers.
await describeSuites('misbehaving providers', [streamDialectsSuite, transportSuite, pressureSuite], {
  planes: ['one'],
  environment: { KEYED_API_KEY: providerKey },
});
