import { pressureSuite } from './pressure.suite.ts';
import { streamDialectsSuite } from './stream-dialects.suite.ts';
import { describeSuites } from './suite.ts';
import { providerKey, transportSuite } from './transport.suite.ts';

// Which planes run and how does not matter here: providers are the broker's alone.
await describeSuites('misbehaving providers', [streamDialectsSuite, transportSuite, pressureSuite], {
  planes: ['one'],
  environment: { KEYED_API_KEY: providerKey },
});
