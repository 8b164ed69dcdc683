import { describe } from 'vitest';
import { epochSuite } from './contract/epochs.suite.ts';
import { keySuite } from './contract/keys.suite.ts';
import { leaseSuite } from './contract/leases.suite.ts';
import { receiptSuite } from './contract/receipts.suite.ts';
import { redeemSuite } from './contract/redeems.suite.ts';
import { settlementSuite } from './contract/settlements.suite.ts';
import { sharedSuite } from './contract/shared.suite.ts';
import { ticketSuite } from './contract/tickets.suite.ts';
import { takeDriver } from './contract/world.ts';
import { drivers } from './drivers.ts';

describe.each(drivers)('the state in $name', (driver) => {
  takeDriver(driver);
  keySuite();
  ticketSuite();
  redeemSuite();
  settlementSuite();
  leaseSuite();
  epochSuite();
  sharedSuite();
  receiptSuite();
});
