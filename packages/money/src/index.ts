export {
  largestAmount,
  maxNusd,
  type Nusd,
  nanoPerCent,
  nusdToDecimal,
  nusdToUsd,
  shiftDecimal,
  usdPerMillionToPico,
  usdPerUnitToPico,
  usdToNusd,
} from './amounts.ts';
export { cost, noUsage, type Usage } from './cost.ts';
export { drawCharge, leftOfGrant, type MonthlyGrant } from './draw-charge.ts';
export { clampUsage, dearestCost, isFree, type TokenBounds } from './hold.ts';
export {
  bytesPerToken,
  type CountedOutput,
  countedUsage,
  type Metered,
  type MeterReading,
  meter,
  type RequestEnd,
} from './meter.ts';
export {
  applyOrderEvent,
  type FeeTerms,
  type OrderEffect,
  type OrderEvent,
  type OrderFlag,
  type OrderFunds,
  orderStatuses,
  orderTotal,
  returnedNusd,
  topUpFee,
} from './order.ts';
export { comparablePrice, type Price, type PriceTier } from './price.ts';
export { type TakenPart, usageUntil } from './usage-until.ts';
export { availableNusd, booked, hold, type Spendable, settle, withFunds } from './wallet.ts';
