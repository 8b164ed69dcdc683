import { creditsPerBatch, parseJson, signedCreditsSchema } from '@sotto/wire';
import * as z from 'zod';
import { ClientError } from '../errors.ts';
import { isolatedFetch } from '../platform/node-platform.ts';
import type { Relay } from '../platform/relay.ts';
import type { ControlPath } from '../service-paths.ts';

/** Thrown for what the user must know or do, as a sentence. */
export class PurseError extends Error {}

/** A refusal of the service, in its own words. `type` decides what happens to the credits. */
export class CreditRefusal extends PurseError {
  readonly type: string;
  readonly param: string;
  /** Whether the same request may succeed soon. */
  readonly isPassing: boolean;

  constructor(
    { type, message, param }: { type: string; message: string; param?: string | null | undefined },
    isPassing: boolean,
  ) {
    super(message);
    this.name = 'CreditRefusal';
    this.type = type;
    this.param = param ?? '';
    this.isPassing = isPassing;
  }
}

const errorSchema = z.object({
  error: z.object({ type: z.string(), message: z.string(), param: z.string().nullish() }),
});
const answerMs = 60_000;

/** The routes of credits. Each request has its own connection through the relay, and no credential but its body. */
export interface CreditService {
  /** Sends a batch and returns its signatures, at most one for each number, and whether the wallet pays for more. */
  sign(path: ControlPath<'POST'>, batch: object): Promise<SignedBatch>;
  deposit(deposit: object): Promise<void>;
  /** Orders a wallet, or asks for its order again. Undefined: it is paid. */
  order(order: object): Promise<WalletOrder | undefined>;
}

export interface SignedBatch {
  readonly signatures: readonly Buffer[];
  readonly more: boolean;
  /** The lots that the permission has left. Undefined: the wallet that was closed pays. */
  readonly lots?: number | undefined;
}

/** An order, as far as the client shows it and remembers it. */
const orderSchema = z.object({
  id: z.string(),
  status: z.enum(['created', 'pending', 'paid', 'failed', 'expired', 'refunded']),
  amount: z.number(),
  total: z.number(),
  expires_at: z.iso.datetime(),
  problem: z.object({ code: z.string(), message: z.string() }).nullable(),
  pay_to: z.array(
    z.object({
      method: z.string(),
      currency: z.string(),
      amount: z.string(),
      destination: z.string(),
      link: z.string().nullable(),
    }),
  ),
});
export type WalletOrder = z.infer<typeof orderSchema>;

export function creditService({ origin, relay }: { readonly origin: string; readonly relay: Relay }): CreditService {
  const post = async (path: ControlPath<'POST'>, body: object): Promise<string> => {
    const { send, close } = isolatedFetch(relay);
    let answer: Response;
    let text: string;
    try {
      answer = await send(`${origin}${path}`, {
        ...{ method: 'POST', body: JSON.stringify(body), redirect: 'error', signal: AbortSignal.timeout(answerMs) },
        headers: { 'content-type': 'application/json' },
      });
      text = await answer.text();
    } catch (error) {
      throw new ClientError('control_unreachable', undefined, { cause: error });
    } finally {
      close();
    }
    if (answer.ok) return text;
    const refused = errorSchema.safeParse(parseJson(text));
    if (!refused.success) throw new ClientError('control_unreachable');
    const { type } = refused.data.error;
    const mayPass = (answer.status >= 500 && type !== 'rail_disabled') || type === 'rate_limited';
    throw new CreditRefusal(refused.data.error, answer.headers.has('retry-after') || mayPass);
  };
  return {
    async sign(path, batch) {
      const { data } = signedCreditsSchema.safeParse(parseJson(await post(path, batch)));
      if (data === undefined || data.signatures.length > creditsPerBatch) throw new ClientError('control_unreachable');
      const signatures = data.signatures.map((signature) => Buffer.from(signature, 'base64url'));
      return { signatures, more: data.more === true, lots: data.lots };
    },
    async deposit(deposit) {
      await post('/v1/wallets', deposit);
    },
    async order(order) {
      const answer = await post('/v1/wallets', order);
      if (answer === '') return undefined;
      const { data } = orderSchema.safeParse(parseJson(answer));
      if (data === undefined) throw new ClientError('control_unreachable');
      return data;
    },
  };
}
