import { choosingSuite } from './choosing.suite.ts';
import { policySuite } from './policy.suite.ts';
import { describeSuites } from './suite.ts';

await describeSuites('routing', [policySuite, choosingSuite]);
