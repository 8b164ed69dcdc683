import { describeStage } from '../../kit/stage/describe-stage.ts';
import { joined } from '../../kit/stage/suites.ts';
import { isThorough } from '../../kit/thoroughly.ts';
import { brokenStreamsSuite } from './broken-streams.suite.ts';
import { choosingSuite } from './choosing.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { leavingSuite } from './leaving.suite.ts';
import { policySuite } from './policy.suite.ts';
import { pressureSuite } from './pressure.suite.ts';
import { streamDialectsSuite } from './stream-dialects.suite.ts';
import { transportSuite } from './transport.suite.ts';

await describeStage('routing', ...joined(policySuite, choosingSuite));
await describeStage('failover', ...joined(failuresSuite, brokenStreamsSuite, leavingSuite));
// The attempts of a request share its ticket and its hold, which each topology keeps in its own way.
if (isThorough) await describeStage('failover', ...joined(leavingSuite), { planes: ['one', 'cluster'] });
// The kind of planes does not matter here, because only the broker calls providers.
await describeStage('misbehaving providers', ...joined(streamDialectsSuite, transportSuite, pressureSuite), {
  planes: ['one'],
});
