import { type FeeTerms, type Nusd, nanoPerCent, topUpFee, usdToNusd } from '@sotto/money';
import { type FileProblem, type FileResult, readYamlAs } from '@sotto/yaml';
import * as z from 'zod';

const isWholeCents = (usd: number): boolean => {
  const nusd = usdToNusd(usd);
  return nusd !== undefined && nusd % nanoPerCent === 0n;
};

const isThousandths = (percent: number): boolean => Math.abs(percent * 1000 - Math.round(percent * 1000)) < 1e-9;

const cents = z.number().refine(isWholeCents, { error: 'must be whole cents, 0 or more' });
const someCents = cents.min(0.01, { error: 'must be at least one cent' });
const sentence = z.string().max(2000);

/** `BILLING_FILE`: packages, limits, fee, terms and seller. All amounts are in USD. */
export const billingFileSchema = z.strictObject({
  packages: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[a-z0-9-]{1,64}$/, { error: 'must be lower-case letters, digits and hyphens' }),
        amount: someCents.max(100_000),
      }),
    )
    .min(1)
    .max(50),
  limits: z.strictObject({
    max_balance: someCents.max(1_000_000),
    max_open_orders: z.int().min(1).max(100),
    max_per_day: someCents.max(1_000_000),
  }),
  fee: z.strictObject({
    percent: z
      .number()
      .min(0)
      .max(50)
      .refine(isThousandths, { error: 'must be a percentage of at most three decimals' }),
    fixed: cents,
    minimum: cents,
  }),
  // At most a day: Stripe keeps idempotency keys that long, and a Checkout session does not live longer.
  order_lifetime_minutes: z.int().min(5).max(1440).default(60),
  terms: z.strictObject({
    text: sentence,
    url: z
      .url({ protocol: /^https?$/, error: 'must be an http or https address' })
      .nullable()
      .default(null),
  }),
  seller: z.strictObject({
    name: sentence.min(1),
    address: sentence.default(''),
    tax_id: z.string().max(100).nullable().default(null),
  }),
});
type BillingFile = z.infer<typeof billingFileSchema>;

/** A top-up for sale. The account is credited `amountNusd` and pays the fee on top. */
export interface Package {
  readonly id: string;
  readonly amountNusd: Nusd;
  readonly feeNusd: Nusd;
}

/** The packages for sale and their terms. */
export interface BillingPlan {
  readonly packages: ReadonlyMap<string, Package>;
  readonly limits: { readonly maxBalanceNusd: Nusd; readonly maxOpenOrders: number; readonly maxPerDayNusd: Nusd };
  readonly orderLifetimeMs: number;
  /** The parsed file, as shown to people. */
  readonly file: BillingFile;
}

/** Parses a billing file. One problem rejects the whole file. Each problem names its line. */
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

/** Converts an amount that the schema has checked to be whole cents. */
const nusdOf = (usd: number): Nusd => usdToNusd(usd) ?? 0n;
