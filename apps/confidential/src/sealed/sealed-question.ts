import {
  type Catalog,
  measureSealed,
  planRequest,
  type Route,
  type SealedTerms,
  sealedHold,
  sealedTerms,
} from '@sotto/router';
import {
  type E2eeFamilyName,
  type RelayRule,
  type RelayVariant,
  relayHeaders,
  relayRules,
  ServiceError,
} from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { readAnnouncement } from './sealed-announcement.ts';
import { readSealedBody } from './sealed-body.ts';

/** A chat request that only an enclave can read: what its ticket binds, how it is passed on, and how it is charged. */
export interface SealedChatQuestion extends AdmissionQuestion {
  readonly rule: RelayRule;
  readonly variant: RelayVariant;
  /** Whether the body asks for a stream. */
  readonly stream: boolean;
  /** The body as it came, and as it is passed on. */
  readonly bytes: Buffer;
  /** The family's headers, as name, value, name, value. */
  readonly headers: readonly string[];
  /** The terms of its hold and its charge, once it is planned. */
  terms(): SealedTerms;
}

/** Reads the headers and the body of a sealed request. Throws if they are invalid. */
export function readSealedQuestion(
  { headers: received, body }: FastifyRequest,
  providers: ProviderSet,
): SealedChatQuestion {
  const { asked, reasoning } = readAnnouncement(received);
  const { family, stream } = asked;
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
  let bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const sealed = readSealedBody(bytes, { stream, reasoning, rule, variant: picked.variant });
  const { needs, size } = measureSealed({ ...sealed, reasoning });
  const model = sealed.chat?.model;
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
    get bytes() {
      return bytes;
    },
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
      assertMeantFor(route, providers, { family, model, chuteId });
      const neighbours = rule.metering === 'frames' ? neighboursOf(route, providers, context.catalog) : [];
      terms = sealedTerms(rule.metering, { route, neighbours, size });
      return planned;
    },
    holdOf: () => sealedHold(termsNow()),
    bounds: () => termsNow().bounds,
    forget() {
      bytes = Buffer.alloc(0);
    },
  };
}

/** The enclave that a sealed request was made for, as far as that shows. */
interface SealedFor {
  readonly family: E2eeFamilyName;
  /** The provider's own name of the model, if the body tells it. */
  readonly model: string | undefined;
  /** For the family `chutes`: the chute that serves the model. */
  readonly chuteId: string | undefined;
}

/** Throws if a sealed request is meant for another family or model than those of its route. */
function assertMeantFor(route: Route, providers: ProviderSet, { family, model, chuteId }: SealedFor): void {
  const served = providers.get(route.providerId)?.entry.attestation?.family;
  if (family !== served) {
    throw new ServiceError('invalid_request', {
      message: `The body is sealed for the family \`${family}\`, but the provider of this route is of the family \`${served}\`.`,
      param: 'family',
    });
  }
  // Routes of this family name the chute beside the model: `<model>@<chute id>`.
  if (chuteId !== undefined && chuteId !== route.upstreamModel.split('@').at(-1)) {
    throw new ServiceError('ticket_model_mismatch', {
      message: 'The header `x-chute-id` must name the chute of the model that the ticket was issued for.',
    });
  }
  if (model !== undefined && model !== route.upstreamModel) {
    throw new ServiceError('ticket_model_mismatch', {
      message: "`model` of the body must be the provider's own name of the model that the ticket was issued for.",
      param: 'model',
    });
  }
}

/** Returns other routes at the same address. A body that is sealed whole may name any of their models. */
export function neighboursOf(route: Route, providers: ProviderSet, catalog: Catalog): Route[] {
  const addressOf = ({ providerId }: Route): string | undefined => {
    const provider = providers.get(providerId);
    // Compare URLs, because the same address may be written in several ways.
    return provider && new URL(provider.entry.base_url).href.replace(/\/+$/, '');
  };
  const address = addressOf(route);
  return [...catalog.models.values()].flatMap(({ type, routes }) =>
    type === 'text' ? routes.filter((other) => other.id !== route.id && addressOf(other) === address) : [],
  );
}
