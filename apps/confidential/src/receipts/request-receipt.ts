import { createHash, type Hash, hash } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type Receipt, type ReceiptBill, receiptBytes } from '@sotto/attestation';
import type { Price, PriceTier } from '@sotto/money';
import type { Upstream, UpstreamHandler } from '@sotto/providers';
import { otherProviderId, type Route } from '@sotto/router';
import { type ReceiptPort, receiptIdOf, sealReceipt } from '@sotto/state';
import { headerNames, nonceSchema, type Operation, ServiceError } from '@sotto/wire';
import type { AnswerWitness } from '../answers/client-link.ts';
import type { ReceiptSigner } from '../gateway/key-set-keeper.ts';
import type { Patience, RequestBill } from '../settlement/request-settlement.ts';

export interface ReceiptDependencies {
  readonly state: ReceiptPort;
  readonly signer: ReceiptSigner;
  /** SHA-256 of the provider registry, as in the key set. */
  readonly registryDigest: string;
  readonly now: () => number;
}

const keptMs = 3_600_000;
const minuteS = 60;

interface Attempted {
  readonly route: Route;
  readonly sessionId: string | undefined;
  forwarded: string | undefined;
  answered: Hash | undefined;
}

/** The request that a receipt is for. */
export interface ReceiptOf {
  readonly secret: string;
  readonly operation: Operation;
  readonly body: unknown;
  /** The request's charge, once it is settled. */
  readonly billed: () => RequestBill | undefined;
  /** Limits how long the end of the answer waits. */
  readonly patience: Patience;
}

/**
 * The receipt of one request whose client asked for one. It hashes what passes. Before the last byte of the answer
 * leaves, it is signed, sealed with the client's secret, and kept for an hour.
 */
export class RequestReceipt implements AnswerWitness {
  readonly #deps: ReceiptDependencies;
  readonly #of: Omit<ReceiptOf, 'body'>;
  readonly #received: string;
  readonly #attempts: Attempted[] = [];
  readonly #returned = createHash('sha256');
  #isKept = false;

  constructor(deps: ReceiptDependencies, { body, ...of }: ReceiptOf) {
    this.#deps = deps;
    this.#of = of;
    this.#received = hash('sha256', Buffer.isBuffer(body) ? body : '');
  }

  /** Returns the upstream of one attempt, which hashes what goes out and comes back. */
  witness(upstream: Upstream, route: Route, sessionId: string | undefined): Upstream {
    const attempted: Attempted = { route, sessionId, forwarded: undefined, answered: undefined };
    this.#attempts.push(attempted);
    return witnessedUpstream(upstream, {
      forwarded(body) {
        attempted.forwarded = hash('sha256', body);
      },
      answered: (bytes) => {
        // The attempt may go on after the receipt is kept: for the usage of a client that has left.
        if (this.#isKept) return;
        attempted.answered ??= createHash('sha256');
        attempted.answered.update(bytes);
      },
      unsent() {
        attempted.forwarded = undefined;
      },
    });
  }

  /** Keeps the receipt even if the connection closes before the end of the answer. */
  follow(response: ServerResponse): void {
    response.once('close', () => void this.#keep(response.statusCode, false).catch(() => {}));
  }

  see(piece: string | Buffer, encoding: 'latin1' | 'utf8'): void {
    // The client has left, so this piece does not reach it.
    if (this.#isKept) return;
    if (typeof piece === 'string') this.#returned.update(piece, encoding);
    else this.#returned.update(piece);
  }

  /** Keeps the receipt. Resolves when it is kept or patience has run out. */
  complete(status: number): Promise<void> {
    return this.#of.patience.wait(this.#keep(status, true));
  }

  async #keep(status: number, complete: boolean): Promise<void> {
    if (this.#isKept) return;
    this.#isKept = true;
    const { state, signer, registryDigest, now } = this.#deps;
    const { secret, operation, billed } = this.#of;
    const signed: Omit<Receipt, 'signature'> = {
      version: 'sotto.receipt.v1',
      key_id: signer.keyId,
      issued_at: Math.floor(now() / 1000 / minuteS) * minuteS,
      operation,
      status,
      received_sha256: this.#received,
      attempts: this.#attempts.flatMap(described),
      returned_sha256: this.#returned.digest('hex'),
      complete,
      bill: billOf(billed()),
      provider_registry_digest: registryDigest,
    };
    const signature = Buffer.from(signer.sign(receiptBytes(signed))).toString('hex');
    const receipt: Receipt = { ...signed, signature };
    const sealed = sealReceipt(secret, JSON.stringify(receipt));
    await state.keepReceipt('gateway', receiptIdOf(secret), sealed, keptMs);
  }
}

/** Leaves out an attempt that failed before anything was sent. */
function described({ route, sessionId, forwarded, answered }: Attempted): Receipt['attempts'] {
  if (forwarded === undefined) return [];
  const { publicProviderId, modelId, upstreamModel, privacyClass } = route;
  return [
    {
      provider: publicProviderId,
      model: modelId,
      upstream_model: publicProviderId === otherProviderId ? null : upstreamModel,
      privacy_class: privacyClass,
      session_id: sessionId ?? null,
      forwarded_sha256: forwarded,
      answered_sha256: answered?.digest('hex') ?? null,
    },
  ];
}

/** Sees the bytes of one exchange with a provider, as they leave and as they come. */
interface Witness {
  forwarded(body: string | Uint8Array): void;
  answered(bytes: Buffer): void;
  /** The body never left, because the connection was not the enclave's. */
  unsent(): void;
}

/** Returns an upstream whose exchanges are shown to a witness. */
function witnessedUpstream(upstream: Upstream, witness: Witness): Upstream {
  return {
    ...upstream,
    call(request, handler) {
      witness.forwarded(request.body);
      const witnessed: UpstreamHandler = {
        onResponse: (status, headers) => handler.onResponse(status, headers),
        onBytes(bytes) {
          witness.answered(bytes);
          handler.onBytes(bytes);
        },
        onEnd: () => handler.onEnd(),
        onFailure(outcome) {
          if (outcome === 'attestation_failed') witness.unsent();
          handler.onFailure(outcome);
        },
      };
      return upstream.call(request, witnessed);
    },
  };
}

/** Returns a settled charge in the form of receipts. */
function billOf(billed: RequestBill | undefined): ReceiptBill | null {
  if (billed === undefined) return null;
  const { usage, price, chargeNusd, estimated, catalogDigest } = billed;
  return {
    catalog_digest: `sha256:${catalogDigest}`,
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      completion_tokens: usage.completionTokens,
      reasoning_tokens: usage.reasoningTokens,
      images: usage.images ?? 0,
      input_characters: usage.inputCharacters ?? 0,
    },
    estimated,
    price: priceOf(price),
    charge_nusd: chargeNusd.toString(),
  };
}

function priceOf({
  input,
  output,
  reasoning,
  image,
  inputCharacter,
  tiers = [],
  ...caches
}: Price): ReceiptBill['price'] {
  return {
    input,
    output,
    ...cachePrices(caches),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(image === undefined ? {} : { image }),
    ...(inputCharacter === undefined ? {} : { input_character: inputCharacter }),
    tiers: tiers.map((tier) => ({
      above_prompt_tokens: tier.abovePromptTokens,
      ...(tier.input === undefined ? {} : { input: tier.input }),
      ...(tier.output === undefined ? {} : { output: tier.output }),
      ...cachePrices(tier),
    })),
  };
}

const cachePrices = ({ cachedInput, cacheWrite }: Pick<PriceTier, 'cachedInput' | 'cacheWrite'>) => ({
  ...(cachedInput === undefined ? {} : { cached_input: cachedInput }),
  ...(cacheWrite === undefined ? {} : { cache_write: cacheWrite }),
});

const example = 'for example from `openssl rand -hex 32`';

/**
 * Reads the secret in `x-router-receipt`, in lower case. Only a caller that knows it can get the receipt. Undefined if
 * no receipt is asked for; throws if the secret is malformed.
 */
export function readReceiptSecret(headers: IncomingHttpHeaders): string | undefined {
  const header = headers[headerNames.receipt];
  if (header === undefined) return undefined;
  const parsed = nonceSchema.safeParse(header);
  if (parsed.success) return parsed.data;
  throw new ServiceError('invalid_request', {
    message: `The header \`${headerNames.receipt}\` must be exactly 64 hex digits that nobody else knows, ${example}.`,
  });
}
