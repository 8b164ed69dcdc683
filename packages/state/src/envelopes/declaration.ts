import * as z from 'zod';
import { monthPattern } from '../budgets.ts';
import { type Keys, type Signed, sign, verify } from './sealing.ts';

const hold = z.object({
  id: z.string(),
  /** Decimal nano-USD. */
  nusd: z.string().regex(/^\d{1,16}$/),
  accountRef: z.string(),
  /** The month in whose budgets it counts. */
  month: z.string().regex(monthPattern),
});
/** A settlement as the broker wrote it, with its MAC. */
const settlement = z.object({ payload: z.string(), mac: z.string() });

/**
 * A broker's declaration when a shard begins a new epoch: the holds of running requests, and the charges that the ledger has not
 * acknowledged, so that control can book these even if the broker dies. It names no account, because only control can decrypt
 * `accountRef`.
 */
const declarationSchema = z.object({
  v: z.literal(1),
  client: z.string(),
  shard: z.int(),
  epoch: z.int(),
  holds: z.array(hold),
  charges: z.array(settlement),
});
export type Declaration = z.infer<typeof declarationSchema>;

const purpose = 'sotto declaration v1';

/** Writes a declaration with the broker's MAC. */
export const signDeclaration = (key: Buffer, declaration: Declaration): Signed => sign(key, purpose, declaration);

/** Reads a declaration. Returns the reason if its MAC is wrong, or if only another version knows its form. */
export function verifyDeclaration(keys: Keys, signed: Signed): Declaration | 'mac' | 'form' {
  const value = verify(keys, purpose, signed);
  return value === undefined ? 'mac' : (declarationSchema.safeParse(value).data ?? 'form');
}
