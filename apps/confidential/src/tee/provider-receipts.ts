import { setTimeout as delay } from 'node:timers/promises';
import type { Upstream } from '@sotto/providers';
import type { Route } from '@sotto/router';
import { type ReceiptPort, receiptIdOf, sealReceipt } from '@sotto/state';
import { z } from 'zod';
import type { CallableProvider } from '../providers/provider-set.ts';
import { signingAlgorithm } from './families/dstack-report.ts';
import { queryOf } from './families/question.ts';
import { type Exchange, observedUpstream } from './observed-upstream.ts';
import type { ProviderDocuments } from './provider-documents.ts';

export interface ProviderReceiptsDependencies {
  readonly state: ReceiptPort;
  readonly documents: Pick<ProviderDocuments, 'of'>;
  readonly sleep?: (ms: number) => Promise<void>;
}

const keptMs = 3_600_000;
/** The signature is made after the answer has ended, and is asked for again while it is not there. */
const waitsMs = [250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 30_000];
/** Receipts are a proof that can be missing: more than these at once are not waited for. */
const maxUnderway = 1_000;

const signatureSchema = z.object({
  text: z.string().max(1024),
  signature: z.string().max(512),
  signing_address: z.string().max(256),
  signing_algo: z.enum(['ecdsa', 'ed25519']).default(signingAlgorithm),
  signature_kind: z.string().max(64).default('provider_tee'),
});

type Family = NonNullable<CallableProvider['entry']['attestation']>['family'];

/** Where a family's enclaves give their signature over one answer; the others give none. */
const signaturePaths: Partial<Record<Family, (completionId: string, model: string) => string>> = {
  near: (id, model) => `/signature/${id}${queryOf({ model, signing_algo: signingAlgorithm })}`,
  phala: (id, model) => `/signature/${id}${queryOf({ model, signing_algo: signingAlgorithm })}`,
  venice: (id, model) => `/tee/signature${queryOf({ model, request_id: id })}`,
};

/** One answer by an enclave, by the id under which its receipt is kept. */
export interface SignedAnswer {
  /** `preq_…`: random, ours, told to the client alone; who knows it can read the receipt. */
  readonly id: string;
  readonly route: Route;
  readonly provider: CallableProvider;
  /** Of the session that content went over, where there was one. */
  readonly sessionId: string | undefined;
}

/**
 * The receipts of providers' own enclaves: fetched once an answer has ended and kept sealed for an hour, hashes and signature
 * only (design 6). What is lost on the way is lost: a receipt can be missing, never wrong.
 */
export class ProviderReceipts {
  readonly #deps: ProviderReceiptsDependencies;
  #underway = 0;
  #isClosed = false;

  constructor(deps: ProviderReceiptsDependencies) {
    this.#deps = deps;
  }

  /** The upstream whose exchange is to have its receipt; the same one where the family gives none. */
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
      const sealed = sealReceipt(answer.id, JSON.stringify(receipt));
      await state.keepReceipt('provider', receiptIdOf(answer.id), sealed, keptMs);
      return;
    }
  }
}
