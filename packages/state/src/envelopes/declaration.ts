import { z } from 'zod';
import type { Keys } from './keys.ts';
import { type Signed, sign, verify } from './signed.ts';

const hold = z.object({
  id: z.string(),
  /** Decimal nano-USD. */
  nusd: z.string().regex(/^\d{1,16}$/),
  accountRef: z.string(),
});
/** A settlement as it was handed over, with its own MAC. */
const settlement = z.object({ payload: z.string(), mac: z.string() });

/**
 * What a broker says it holds in a shard when the shard begins a new epoch: the holds of requests that run, and charges
 * that the ledger has not acknowledged: they are handed over anew, should the broker not come to it. It names no account: `accountRef` is opened by control alone.
 */
export const declarationSchema = z.object({
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

/** Reads a declaration; undefined where its MAC is wrong or it is of no version we read. */
export const verifyDeclaration = (keys: Keys, signed: Signed): Declaration | undefined =>
  declarationSchema.safeParse(verify(keys, purpose, signed)).data;
