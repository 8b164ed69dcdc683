export {
  maxNusd,
  type Nusd,
  nanoPerCent,
  nusdToDecimal,
  nusdToUsd,
  type PicoUsd,
  usdPerMillionToPico,
  usdPerUnitToPico,
  usdToNusd,
} from './amounts.ts';
export { cost, noUsage, type Usage } from './cost.ts';
export { shiftDecimal } from './decimal.ts';
export { capToHold, clampUsage, dearestCost, type TokenBounds } from './hold.ts';
export { bytesPerToken, type CountedOutput, countedUsage, type Metered, type MeterReading, meter } from './meter.ts';
export {
  applyOrderEvent,
  type OrderEffect,
  type OrderEvent,
  type OrderFlag,
  type OrderFunds,
  type OrderStatus,
  type OrderStep,
  orderStatuses,
  orderTotal,
  returnedNusd,
} from './order.ts';
export { comparablePrice, type Price, type PriceTier, pricesAt } from './price.ts';
export { type FeeTerms, topUpFee } from './top-up-fee.ts';
export { availableNusd, booked, hold, type Spendable, settle, withFunds } from './wallet.ts';
export { type RequestEnd, whoPays } from './who-pays.ts';
