import { type FeeTerms, type Nusd, topUpFee, usdToNusd } from '@sotto/money';
import { type FileProblem, type FileResult, readYamlAs } from '@sotto/router';
import { type BillingFile, billingFileSchema } from './billing-file.ts';

/** A top-up that is offered: the account is credited `amountNusd` and pays the fee on top. */
export interface Package {
  readonly id: string;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
}

/** What may be bought, and on which terms. */
export interface BillingPlan {
  readonly packages: ReadonlyMap<string, Package>;
  readonly limits: { readonly maxBalanceNusd: Nusd; readonly maxOpenOrders: number; readonly maxPerDayNusd: Nusd };
  readonly orderLifetimeMs: number;
  /** As the file has it: what is shown to people. */
  readonly file: BillingFile;
}

/** Parses a billing file. One with anything wrong is refused whole, each problem with its line. */
export function parseBilling(text: string): FileResult<BillingPlan> {
  const read = readYamlAs(text, billingFileSchema);
  if (!read.ok) return read;
  const { file, source } = read.value;
  const problems: FileProblem[] = [];
  const packages = new Map<string, Package>();
  for (const [at, { id, amount }] of file.packages.entries()) {
    const report = (field: string, message: string): void => {
      problems.push({ line: source.lineOf(['packages', at, field]), message: `${id}: ${message}` });
    };
    if (packages.has(id)) report('id', 'the package is repeated');
    if (amount > file.limits.max_balance) report('amount', 'is above limits.max_balance: nobody could buy it');
    if (amount > file.limits.max_per_day) report('amount', 'is above limits.max_per_day: nobody could buy it');
    const amountNusd = nusdOf(amount);
    packages.set(id, { id, amountNusd, feeNusd: topUpFee(amountNusd, feeTerms(file)) });
  }
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    value: {
      packages,
      limits: {
        maxBalanceNusd: nusdOf(file.limits.max_balance),
        maxOpenOrders: file.limits.max_open_orders,
        maxPerDayNusd: nusdOf(file.limits.max_per_day),
      },
      orderLifetimeMs: file.order_lifetime_minutes * 60_000,
      file,
    },
  };
}

const feeTerms = ({ fee }: BillingFile): FeeTerms => ({
  milliPercent: BigInt(Math.round(fee.percent * 1000)),
  fixedNusd: nusdOf(fee.fixed),
  minimumNusd: nusdOf(fee.minimum),
});

/** Of an amount that the schema has found to be whole cents. */
const nusdOf = (usd: number): Nusd => usdToNusd(usd) ?? 0n;
