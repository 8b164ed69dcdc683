import { createHash, type Hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Receipt, receiptBytes } from '@sotto/attestation';
import type { Upstream } from '@sotto/providers';
import { otherProviderId, type Route } from '@sotto/router';
import { type ReceiptPort, receiptIdOf, sealReceipt } from '@sotto/state';
import type { Operation } from '@sotto/wire';
import type { ReceiptSigner } from '../gateway/receipt-key.ts';
import type { Patience } from '../settlement/patience.ts';
import type { RequestBill } from '../settlement/request-settlement.ts';
import { billOf } from './receipt-bill.ts';
import { witnessedUpstream } from './witnessed-upstream.ts';

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

/** The request that a receipt is of. */
export interface ReceiptOf {
  readonly secret: string;
  readonly operation: Operation;
  readonly body: unknown;
  /** What it was charged, once that is settled. */
  readonly billed: () => RequestBill | undefined;
}

/**
 * The receipt of one request whose client asked for one: it hashes what passes, and is signed and kept, for an hour and
 * sealed by the client's secret, before the last byte of the answer leaves.
 */
export class RequestReceipt {
  readonly #deps: ReceiptDependencies;
  readonly #secret: string;
  readonly #operation: Operation;
  readonly #received: string;
  readonly #billed: ReceiptOf['billed'];
  readonly #attempts: Attempted[] = [];
  readonly #returned = createHash('sha256');
  #isKept = false;

  constructor(deps: ReceiptDependencies, { secret, operation, body, billed }: ReceiptOf) {
    this.#deps = deps;
    this.#secret = secret;
    this.#operation = operation;
    this.#billed = billed;
    this.#received = createHash('sha256')
      .update(Buffer.isBuffer(body) ? body : '')
      .digest('hex');
  }

  /** The upstream of one attempt, hashing what goes out and comes back. */
  witness(upstream: Upstream, route: Route, sessionId: string | undefined): Upstream {
    const attempted: Attempted = { route, sessionId, forwarded: undefined, answered: undefined };
    this.#attempts.push(attempted);
    return witnessedUpstream(upstream, {
      forwarded(body) {
        attempted.forwarded = createHash('sha256').update(body).digest('hex');
      },
      answered(bytes) {
        attempted.answered ??= createHash('sha256');
        attempted.answered.update(bytes);
      },
      unsent() {
        attempted.forwarded = undefined;
      },
    });
  }

  /** Hashes what the client is sent from here on, and keeps the receipt before the end of it leaves. */
  follow(response: ServerResponse, patience: Patience): void {
    const write = response.write.bind(response) as (...written: unknown[]) => boolean;
    const end = response.end.bind(response) as (...written: unknown[]) => ServerResponse;
    response.write = (...written: unknown[]): boolean => {
      this.#hash(written);
      return write(...written);
    };
    response.end = (...written: unknown[]): ServerResponse => {
      this.#hash(written);
      void patience.wait(this.#keep(response.statusCode, true)).then(() => end(...written));
      return response;
    };
    response.once('close', () => void this.#keep(response.statusCode, false).catch(() => {}));
  }

  #hash([piece, encoding]: readonly unknown[]): void {
    if (typeof piece === 'string') this.#returned.update(piece, encoding === 'latin1' ? 'latin1' : 'utf8');
    else if (piece instanceof Uint8Array) this.#returned.update(piece);
  }

  async #keep(status: number, complete: boolean): Promise<void> {
    if (this.#isKept) return;
    this.#isKept = true;
    const { state, signer, registryDigest, now } = this.#deps;
    const signed: Omit<Receipt, 'signature'> = {
      version: 'sotto.receipt.v1',
      key_id: signer.keyId,
      issued_at: Math.floor(now() / 1000 / minuteS) * minuteS,
      operation: this.#operation,
      status,
      received_sha256: this.#received,
      attempts: this.#attempts.flatMap(described),
      returned_sha256: this.#returned.digest('hex'),
      complete,
      bill: billOf(this.#billed()),
      provider_registry_digest: registryDigest,
    };
    const signature = Buffer.from(signer.sign(receiptBytes(signed))).toString('hex');
    const receipt: Receipt = { ...signed, signature };
    const sealed = sealReceipt(this.#secret, JSON.stringify(receipt));
    await state.keepReceipt('gateway', receiptIdOf(this.#secret), sealed, keptMs);
  }
}

/** An attempt that failed before anything was sent is none. */
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
