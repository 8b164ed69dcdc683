import { createHash, type Hash, hash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { type Receipt, receiptBytes } from '@sotto/attestation';
import type { Upstream } from '@sotto/providers';
import { otherProviderId, type Route } from '@sotto/router';
import { type ReceiptPort, receiptIdOf, sealReceipt } from '@sotto/state';
import type { Operation } from '@sotto/wire';
import type { AnswerWitness } from '../answers/client-link.ts';
import type { ReceiptSigner } from '../gateway/key-set-keeper.ts';
import type { Patience, RequestBill } from '../settlement/request-settlement.ts';
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
