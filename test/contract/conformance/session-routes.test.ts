import { sessionRoutes } from './session-routes.ts';
import { describeConformance } from './suite.ts';

await describeConformance('session routes', [sessionRoutes], {}, { CONNECTED_APPS: 'on', BILLING_TEST_RAIL: 'on' });
