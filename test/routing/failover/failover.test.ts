import { brokenStreamsSuite } from './broken-streams.suite.ts';
import { failuresSuite } from './failures.suite.ts';
import { leavingSuite } from './leaving.suite.ts';
import { describeSuites } from './suite.ts';

await describeSuites('failover', [failuresSuite, brokenStreamsSuite, leavingSuite]);
