import { describe } from 'vitest';
import { budgetSuite } from './contract/budgets.suite.ts';
import { epochSuite, leaseSuite } from './contract/epochs.suite.ts';
import { removalSuite, workspaceSuite } from './contract/records.suite.ts';
import { redeemSuite } from './contract/redeems.suite.ts';
import { refusalSuite } from './contract/refusals.suite.ts';
import { receiptSuite, settlementSuite } from './contract/settlements.suite.ts';
import { sharedSuite } from './contract/shared.suite.ts';
import { keySuite, ticketSuite } from './contract/tickets.suite.ts';
import { takeDriver } from './contract/world.ts';
import { drivers } from './drivers.ts';

describe.each(drivers)('the state in $name', (driver) => {
  const driven = takeDriver(driver);
  keySuite(driven);
  ticketSuite(driven);
  workspaceSuite(driven);
  removalSuite(driven);
  redeemSuite(driven);
  budgetSuite(driven);
  refusalSuite(driven);
  settlementSuite(driven);
  leaseSuite(driven);
  epochSuite(driven);
  sharedSuite(driven);
  receiptSuite(driven);
});
