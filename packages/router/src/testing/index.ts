/** How brokers share the health of routes, for the fuzzer. */
export { RouteTally, readRecord } from '../health/route-tally.ts';
export { anyCatalog, anyExactRequest, anyNeeds, anyPreferences, anyStatus, theModel } from './fixtures.ts';
