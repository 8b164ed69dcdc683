import { createHash, hash } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { queryOf, signingAlgorithm, type Upstream, type UpstreamHandler } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { type ReceiptPort, receiptIdOf, sealReceipt } from '@sotto/state';
import type { E2eeFamilyName } from '@sotto/wire';
import * as z from 'zod';
import type { CallableProvider } from '../providers/provider-set.ts';
import type { ProviderDocuments } from './provider-documents.ts';

export interface ProviderReceiptsDependencies {
  readonly state: ReceiptPort;
  readonly documents: Pick<ProviderDocuments, 'of'>;
  readonly sleep?: (ms: number) => Promise<void>;
}

const keptMs = 3_600_000;
/**
 * The provider signs after its answer has ended. Ask again after each of these waits while the signature is missing.
 */
const waitsMs = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** A receipt is a proof that can be missing. At most this many are awaited at once. */
const maxUnderway = 1_000;

const signatureSchema = z.object({
  text: z.string().max(1024),
  signature: z.string().max(512),
  signing_address: z.string().max(256),
  signing_algo: z.enum(['ecdsa', 'ed25519']).default(signingAlgorithm),
  signature_kind: z.string().max(64).default('provider_tee'),
});

/** Where a family's enclaves give their signature over one answer. Other families give no signature. */
const signaturePaths: Partial<Record<E2eeFamilyName, (completionId: string, model: string) => string>> = {
  near: (id, model) => `/signature/${id}${queryOf({ model, signing_algo: signingAlgorithm })}`,
  phala: (id, model) => `/signature/${id}${queryOf({ model, signing_algo: signingAlgorithm })}`,
  venice: (id, model) => `/tee/signature${queryOf({ model, request_id: id })}`,
};

/** One answer by an enclave, with the ID under which its receipt is kept. */
export interface SignedAnswer {
  /** `preq_…`: a random ID of ours that is told only to the client. A caller that knows it can read the receipt. */
  readonly id: string;
  readonly route: Route;
  readonly provider: CallableProvider;
  /** ID of the session that carried the content, if there was one. */
  readonly sessionId: string | undefined;
  /** The secret that opens the receipt at this broker. Undefined if the client sent none. */
  readonly receiptSecret: string | undefined;
}

/**
 * Keeps the receipts of providers' own enclaves. Each is fetched once an answer has ended and kept sealed for an hour,
 * hashes and signature only. A receipt that is lost on the way is not fetched again: it can be missing, never wrong.
 */
export class ProviderReceipts {
  readonly #deps: ProviderReceiptsDependencies;
  #underway = 0;
  #isClosed = false;

  constructor(deps: ProviderReceiptsDependencies) {
    this.#deps = deps;
  }

  /** Wraps the upstream whose exchange is to have a receipt. Returns it unchanged if the family gives no signature. */
  watch(answer: SignedAnswer, upstream: Upstream): Upstream {
    const family = answer.provider.entry.attestation?.family;
    const path = family && signaturePaths[family];
    if (path === undefined) return upstream;
    return observedUpstream(upstream, (exchange) => {
      if (exchange.completionId === undefined || this.#underway >= maxUnderway) return;
      this.#underway += 1;
      const asked = path(exchange.completionId, answer.route.upstreamModel);
      void this.#keep(answer, exchange, asked)
        .catch(() => {})
        .finally(() => {
          this.#underway -= 1;
        });
    });
  }

  close(): void {
    this.#isClosed = true;
  }

  async #keep(answer: SignedAnswer, exchange: Exchange, path: string): Promise<void> {
    const { state, documents, sleep = (ms) => delay(ms, undefined, { ref: false }) } = this.#deps;
    for (const waitMs of waitsMs) {
      await sleep(waitMs);
      if (this.#isClosed) return;
      const answered = await documents
        .of(answer.provider, 'receipts')
        .documents.get(path, { maxBytes: 16_384 })
        .catch(() => undefined);
      if (answered?.status !== 200) continue;
      const signed = signatureSchema.parse(JSON.parse(answered.body.toString('utf8')));
      const { route, provider, sessionId } = answer;
      const receipt = {
        provider: route.publicProviderId,
        model: route.modelId,
        family: provider.entry.attestation?.family,
        session_id: sessionId ?? null,
        request_sha256: exchange.requestSha256,
        response_sha256: exchange.responseSha256,
        ...signed,
      };
      for (const opener of [answer.id, answer.receiptSecret]) {
        if (opener === undefined) continue;
        await state.keepReceipt('provider', receiptIdOf(opener), sealReceipt(opener, JSON.stringify(receipt)), keptMs);
      }
      return;
    }
  }
}

/** Describes an exchange by the bytes that went to the provider and came from it. */
interface Exchange {
  readonly requestSha256: string;
  readonly responseSha256: string;
  /** The provider's own ID of the answer, if the answer begins with one in clear. */
  readonly completionId: string | undefined;
}

/** An ID is among the first fields of an answer, or of the first event of a stream. */
const headBytes = 4096;
const idField = /"id"\s*:\s*"([\w.:-]{1,200})"/;

/** Wraps an upstream to report each call that ended with a success: hashes and an ID, never the bytes. */
function observedUpstream(upstream: Upstream, onExchange: (exchange: Exchange) => void): Upstream {
  return {
    ...upstream,
    call(request, handler) {
      const requestSha256 = hash('sha256', request.body);
      return upstream.call(request, new Observer(handler, (seen) => onExchange({ requestSha256, ...seen })));
    },
  };
}

class Observer implements UpstreamHandler {
  readonly #handler: UpstreamHandler;
  readonly #onEnd: (seen: Omit<Exchange, 'requestSha256'>) => void;
  readonly #hash = createHash('sha256');
  #head = '';
  #isSuccess = false;

  constructor(handler: UpstreamHandler, onEnd: (seen: Omit<Exchange, 'requestSha256'>) => void) {
    this.#handler = handler;
    this.#onEnd = onEnd;
  }

  onResponse(...response: Parameters<UpstreamHandler['onResponse']>): void {
    const [status] = response;
    this.#isSuccess = status >= 200 && status < 300;
    this.#handler.onResponse(...response);
  }

  onBytes(bytes: Buffer): void {
    if (this.#isSuccess) {
      this.#hash.update(bytes);
      if (this.#head.length < headBytes) this.#head += bytes.toString('latin1', 0, headBytes - this.#head.length);
    }
    this.#handler.onBytes(bytes);
  }

  onEnd(): void {
    if (this.#isSuccess) {
      const completionId = idField.exec(this.#head)?.[1];
      this.#onEnd({ responseSha256: this.#hash.digest('hex'), completionId });
    }
    this.#handler.onEnd();
  }

  onFailure(outcome: Parameters<UpstreamHandler['onFailure']>[0]): void {
    this.#handler.onFailure(outcome);
  }
}
