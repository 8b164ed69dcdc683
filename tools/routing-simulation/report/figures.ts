import type { Result } from '../tally.ts';

/** How figures are written, in the table and in the plot alike. */
export const figures = {
  success: ({ successRate }: Result): string => percent(successRate, 2),
  firstServed: ({ firstServed }: Result): string => percent(firstServed, 1),
  medianCost: ({ medianCost }: Result): string => `$${(medianCost * 1000).toFixed(2)}`,
  costToCheapest: ({ costToCheapest }: Result): string => `${costToCheapest.toFixed(3)} ×`,
  ttftP50: ({ ttftMs }: Result): string => seconds(ttftMs.p50),
  ttftP95: ({ ttftMs }: Result): string => seconds(ttftMs.p95),
  tier: ({ tiers }: Result, tier: keyof Result['tiers']): string => percent(tiers[tier], 0),
} as const;

const percent = (share: number, digits: number): string => `${(share * 100).toFixed(digits)} %`;
const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
