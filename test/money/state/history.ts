import { maxNusd } from '@sotto/money';
import fc from 'fast-check';

/** The minted ticket or the key that a step uses. */
export type StepRight = { readonly ticket: number } | { readonly key: number };

/**
 * One step of a history. A number that names a hold, ticket, message or entry is an index into the existing ones,
 * newest first. It wraps around their number.
 */
export type Operation =
  | { readonly op: 'deposit'; readonly wallet: number; readonly units: number }
  | { readonly op: 'change_key'; readonly key: number; readonly change: KeyChange }
  | { readonly op: 'set_budget'; readonly budget: number; readonly units: number | undefined }
  /**
   * A message from control arrives: late, out of order, more than once, or never. After a key whose preferences the state lacks, these
   * follow if it `isWhole`.
   */
  | { readonly op: 'deliver'; readonly message: number; readonly isWhole: boolean }
  | {
      readonly op: 'mint';
      readonly ticket: number;
      readonly key: number;
      readonly ttlS: number;
    }
  | { readonly op: 'peek'; readonly right: StepRight }
  | {
      readonly op: 'redeem';
      /** Undefined: a new hold. A number: an earlier request arrives, for the first time or again. */
      readonly again: number | undefined;
      /** The broker has sent it, but it has not arrived yet. */
      readonly delayed: boolean;
      readonly right: StepRight;
      readonly units: number;
      readonly oddNusd: number;
      /** How far the hold is rounded up, in units. Undefined: it is not. */
      readonly rounding: number | undefined;
      readonly tokens: number;
      readonly staleBy: number;
    }
  /** A broker counts a request that it refused itself. */
  | { readonly op: 'count_refusal'; readonly right: StepRight }
  | { readonly op: 'cancel'; readonly hold: number; readonly beforeRedeem: boolean }
  | { readonly op: 'settle'; readonly hold: number; readonly percent: number; readonly tokens: number }
  /** Requests of one turn of the event loop, which the Redis driver sends in one call. */
  | { readonly op: 'redeem_together'; readonly redeems: readonly Redeem[] }
  | { readonly op: 'settle_together'; readonly holds: number; readonly percent: number; readonly tokens: number }
  | { readonly op: 'read_settlements'; readonly limit: number }
  | { readonly op: 'acknowledge'; readonly entry: number }
  | { readonly op: 'lookup_key'; readonly key: number }
  | { readonly op: 'read_wallet'; readonly wallet: number }
  /** Control sets money of a wallet aside. Then it leaves the ledger, or stays because the transaction rolled back. */
  | {
      readonly op: 'reserve';
      readonly wallet: number;
      readonly units: number;
      readonly alone: boolean;
      readonly leaves: boolean;
    }
  | { readonly op: 'reap' }
  | { readonly op: 'join'; readonly leaseS: number; readonly declares: 'nothing' | 'something' | 'renewal' }
  | { readonly op: 'leave' }
  /** Ends the shard's epoch. With `begins`, another one begins. */
  | { readonly op: 'end_epoch'; readonly begins: boolean }
  | { readonly op: 'admit_declared'; readonly holds: number; readonly leaseS: number }
  | { readonly op: 'open_epoch' }
  /** The shard forgets a step that it had answered. */
  | { readonly op: 'forget_step' }
  | { readonly op: 'advance'; readonly seconds: number };

export type Redeem = Extract<Operation, { op: 'redeem' }>;
export type KeyChange =
  | { readonly what: 'revoke' }
  | { readonly what: 'preferences'; readonly areReadable: boolean; readonly areLooser: boolean }
  | { readonly what: 'limit'; readonly units: number | undefined }
  | { readonly what: 'tag'; readonly tag: string | undefined }
  | { readonly what: 'rates'; readonly requests: number; readonly tokens: number };

export interface History {
  /** The size of one unit of money in nano-USD: small, or so large that Lua would write a balance with an exponent. */
  readonly unitNusd: bigint;
  /** Whether control's first projection has arrived when the history begins. */
  readonly projectedAtFirst: boolean;
  readonly operations: readonly Operation[];
}

const at = (count: number): fc.Arbitrary<number> => fc.nat({ max: count - 1 });
const units = fc.constantFrom(0, 1, 1, 2, 5, 10, 20, 60);

const keyChange: fc.Arbitrary<KeyChange> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ what: fc.constant('revoke') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('preferences'),
      areReadable: fc.constantFrom(true, true, true, true, true, true, true, true, true, false),
      areLooser: fc.boolean(),
    }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('limit'), units: fc.option(units, { nil: undefined }) }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('tag'), tag: fc.constantFrom('a', 'a', 'b', undefined) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('rates'),
      requests: fc.constantFrom(0, 1, 3, 100),
      tokens: fc.constantFrom(0, 10, 60, 1000),
    }),
  },
);

const right: fc.Arbitrary<StepRight> = fc.oneof(
  fc.record({ ticket: at(5) }),
  fc.record({ key: fc.constantFrom(0, 0, 1, 1, 2, 2, 2, 3) }),
);
const staleBy = fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 1);

const redeem: fc.Arbitrary<Redeem> = fc.record({
  op: fc.constant('redeem'),
  again: fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, at(6)),
  delayed: fc.constantFrom(false, false, false, false, true),
  right,
  units,
  oddNusd: fc.constantFrom(0, 0, 0, 1),
  rounding: fc.constantFrom(undefined, undefined, undefined, 0, 2, 60),
  tokens: fc.constantFrom(0, 5, 10, 30),
  staleBy,
});

const rare = (arbitrary: fc.Arbitrary<Operation>) => ({ weight: 1, arbitrary });
const often = (weight: number, arbitrary: fc.Arbitrary<Operation>) => ({ weight, arbitrary });

const operation: fc.Arbitrary<Operation> = fc.oneof(
  often(2, fc.record({ op: fc.constant('deposit'), wallet: at(2), units: fc.constantFrom(-50, -10, 1, 10, 40) })),
  often(3, fc.record({ op: fc.constant('change_key'), key: at(3), change: keyChange })),
  often(5, fc.record({ op: fc.constant('set_budget'), budget: at(4), units: fc.option(units, { nil: undefined }) })),
  often(
    8,
    fc.record({
      op: fc.constant('deliver'),
      message: at(40),
      isWhole: fc.constantFrom(true, true, true, true, false),
    }),
  ),
  often(
    6,
    fc.record({
      op: fc.constant('mint'),
      ticket: at(5),
      key: at(3),
      ttlS: fc.constantFrom(60, 300),
    }),
  ),
  often(4, fc.record({ op: fc.constant('peek'), right })),
  often(2, fc.record({ op: fc.constant('count_refusal'), right })),
  often(22, redeem),
  often(
    4,
    fc.record({
      op: fc.constant('cancel'),
      hold: at(6),
      beforeRedeem: fc.constantFrom(false, false, false, true),
    }),
  ),
  often(
    8,
    fc.record({
      op: fc.constant('settle'),
      hold: at(6),
      percent: fc.constantFrom(0, 1, 50, 99, 100),
      tokens: fc.constantFrom(0, 5, 10, 100),
    }),
  ),
  often(
    6,
    fc.record({ op: fc.constant('redeem_together'), redeems: fc.array(redeem, { minLength: 2, maxLength: 6 }) }),
  ),
  often(
    4,
    fc.record({
      op: fc.constant('settle_together'),
      holds: fc.constantFrom(2, 3, 6),
      percent: fc.constantFrom(0, 50, 100),
      tokens: fc.constantFrom(0, 5, 100),
    }),
  ),
  often(4, fc.record({ op: fc.constant('read_settlements'), limit: fc.constantFrom(1, 2, 100) })),
  often(2, fc.record({ op: fc.constant('acknowledge'), entry: at(20) })),
  rare(fc.record({ op: fc.constant('lookup_key'), key: at(4) })),
  rare(fc.record({ op: fc.constant('read_wallet'), wallet: at(3) })),
  often(
    3,
    fc.record({
      op: fc.constant('reserve'),
      wallet: at(2),
      units,
      alone: fc.constantFrom(false, false, true),
      leaves: fc.boolean(),
    }),
  ),
  often(4, fc.record({ op: fc.constant('reap') })),
  often(
    5,
    fc.record({
      op: fc.constant('join'),
      leaseS: fc.constantFrom(15, 100, 1000),
      declares: fc.constantFrom('nothing', 'nothing', 'something', 'renewal'),
    }),
  ),
  rare(fc.record({ op: fc.constant('leave') })),
  rare(fc.record({ op: fc.constant('end_epoch'), begins: fc.constantFrom(true, true, false) })),
  rare(fc.record({ op: fc.constant('admit_declared'), holds: at(4), leaseS: fc.constantFrom(15, 1000) })),
  often(2, fc.record({ op: fc.constant('open_epoch') })),
  rare(fc.record({ op: fc.constant('forget_step') })),
  often(3, fc.record({ op: fc.constant('advance'), seconds: fc.constantFrom(10, 20, 30, 60, 130, 700) })),
);

export const history: fc.Arbitrary<History> = fc.record({
  unitNusd: fc.constantFrom(1n, 1_000n, maxNusd / 1000n),
  projectedAtFirst: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, fc.constant(false)),
  operations: fc.array(operation, { maxLength: 60, size: 'max' }),
});
