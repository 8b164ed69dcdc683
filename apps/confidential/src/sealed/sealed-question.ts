import { measureSealed, planRequest, type SealedTerms, sealedHold, sealedTerms } from '@sotto/router';
import { type RelayRule, type RelayVariant, relayHeaders, relayRules, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { readAnnouncement } from './sealed-announcement.ts';
import { readSealedBody } from './sealed-body.ts';
import { assertMeantFor, neighboursOf } from './sealed-route.ts';

/** A chat request that only an enclave can read: what its ticket binds, and how it goes on and is charged. */
export interface SealedChatQuestion extends AdmissionQuestion {
  readonly rule: RelayRule;
  readonly variant: RelayVariant;
  /** Whether the body asks for a stream. */
  readonly stream: boolean;
  /** The body as it came, and as it goes on. */
  readonly bytes: Buffer;
  /** The family's headers, as name, value, name, value. */
  readonly headers: readonly string[];
  /** What it is held and charged by, once it is planned. */
  terms(): SealedTerms;
}

/** Reads the headers and the body of a sealed request. Throws what is wrong with it. */
export function readSealedQuestion(
  { headers: received, body }: FastifyRequest,
  providers: ProviderSet,
): SealedChatQuestion {
  const announced = readAnnouncement(received);
  const { family, stream, reasoning, asked } = announced;
  const rule: RelayRule = relayRules[family];
  if (received['content-type']?.split(';')[0]?.trim().toLowerCase() !== rule.contentType) {
    throw new ServiceError('unsupported_media_type', {
      message: `A body sealed for the family \`${family}\` is sent with \`content-type: ${rule.contentType}\`.`,
    });
  }
  const picked = relayHeaders(family, (name) => received[name]);
  if (!picked.ok) {
    const message = `The header \`${picked.header}\` is missing or malformed: the family \`${family}\` needs it.`;
    throw new ServiceError('invalid_request', { message });
  }
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const sealed = readSealedBody(bytes, { stream, reasoning, rule, variant: picked.variant });
  const { needs, size } = measureSealed({ ...sealed, reasoning });
  const chuteId = family === 'chutes' ? String(received['x-chute-id']) : undefined;
  let terms: SealedTerms | undefined;
  const termsNow = (): SealedTerms => {
    if (terms === undefined) throw new Error('the terms of a request that was not planned');
    return terms;
  };
  return {
    rule,
    variant: picked.variant,
    stream,
    bytes,
    headers: picked.headers,
    needs,
    size,
    bindings: { operation: 'chat', model: asked.model, provider: asked.provider, reasoning },
    terms: termsNow,
    plan(context) {
      const planned = planRequest(asked, needs, context);
      if (!planned.ok) return planned;
      const [route] = planned.value.routes;
      if (route === undefined) throw new Error('a plan without a route');
      assertMeantFor(route, providers, { family, model: sealed.chat?.model, chuteId });
      const neighbours = rule.metering === 'frames' ? neighboursOf(route, providers, context.catalog) : [];
      terms = sealedTerms(rule.metering, { route, neighbours, size });
      return planned;
    },
    holdOf: () => sealedHold(termsNow()),
    bounds: () => termsNow().bounds,
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
  };
}
