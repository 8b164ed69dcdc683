import { everyRoute } from './every-route.ts';
import { describeConformance } from './suite.ts';

await describeConformance(
  'every route',
  [everyRoute],
  { accounts: 2 },
  {
    CONNECTED_APPS: 'on',
    BILLING_TEST_RAIL: 'on',
    IMAGE_GENERATION: 'on',
    SPEECH_SYNTHESIS: 'on',
  },
);
