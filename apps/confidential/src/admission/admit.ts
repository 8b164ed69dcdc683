import { bearerToken } from '@sotto/http';
import type { Nusd } from '@sotto/money';
import {
  attemptsOf,
  type Decision,
  type Needs,
  type Plan,
  type PlanningContext,
  type RequestSize,
  type Route,
} from '@sotto/router';
import {
  type AdmissionPort,
  apiKeyKind,
  bindingsOf,
  type HoldBook,
  hashSecret,
  type Keys,
  openTicket,
  type RateStatus,
  StateUnavailableError,
  type TicketBindings,
  type TicketEnvelope,
  type VersionedKey,
} from '@sotto/state';
import { headerNames, type Operation, type Preferences, ServiceError } from '@sotto/wire';
import type { FastifyRequest } from 'fastify';
import type { SharedView } from '../planning/shared-view.ts';
import type { KeyCache } from './key-cache.ts';
import { redeem } from './redeem.ts';

/** A request that may run: its plan, its hold, and how the ledger will know whose it is. */
export interface Admission {
  readonly plan: Plan;
  readonly attempts: readonly Route[];
  /** Of the catalog that the plan was made with. */
  readonly catalogDigest: string;
  readonly shard: number;
  readonly holdId: string;
  readonly holdNusd: Nusd;
  readonly accountRef: string;
  readonly rate: RateStatus;
}

/** What admission asks of an operation, once its body is read. */
export interface AdmissionQuestion {
  readonly needs: Needs;
  readonly size: RequestSize;
  readonly bindings: Parameters<typeof bindingsOf>[0];
  plan(context: PlanningContext): Decision<Plan>;
  holdOf(attempts: readonly Route[]): Nusd;
  /** How long the request may take, from its first route's limits. */
  totalMs(first: Route): number;
}

export interface AdmissionDependencies {
  readonly state: Pick<AdmissionPort, 'isTicketValid'>;
  readonly holds: HoldBook;
  readonly keys: KeyCache;
  readonly view: SharedView;
  readonly ticketSealingKey: Keys;
  readonly now: () => number;
  /** Draws which of the routes that share traffic goes first. */
  readonly random: () => number;
}

/** What the operations outside compatibility mode (interface 1) are called in a sentence. */
const servedByTicket: Partial<Record<Operation, string>> = { image: 'Image generation', speech: 'Speech synthesis' };

/**
 * Decides whether a request may run, in either flow, and sets its money aside (design 4).
 * `read` parses the body; it runs after the credential was seen, so that nobody without one learns what a body lacks.
 * `ticketOnly` names, for a sentence, what no key alone is served.
 */
export async function admit(
  deps: AdmissionDependencies,
  {
    request,
    operation,
    ticketOnly = servedByTicket[operation],
  }: { readonly request: FastifyRequest; readonly operation: Operation; readonly ticketOnly?: string | undefined },
  read: () => AdmissionQuestion,
): Promise<Admission> {
  const ticket = request.headers[headerNames.ticket];
  const hasTicket = typeof ticket === 'string' && ticket !== '';
  const token = bearerToken(request);
  // Another scheme, or a bearer of nothing, is no bearer token: beside a ticket it says nothing (interface 1).
  const bearer = token === '' && hasTicket ? undefined : token;
  if (bearer !== undefined && ticketOnly === undefined) return admitByKey(deps, bearer, read);
  if (bearer !== undefined) {
    throw new ServiceError('ticket_required', {
      message: `${ticketOnly} is served by ticket only: send it in \`x-router-ticket\`, and no \`authorization\`.`,
    });
  }
  if (!hasTicket) throw new ServiceError('ticket_required');
  return admitByTicket(deps, ticket, read);
}

async function admitByTicket(
  deps: AdmissionDependencies,
  ticket: string,
  read: () => AdmissionQuestion,
): Promise<Admission> {
  const envelope = openTicket(deps.ticketSealingKey, ticket);
  if (envelope === undefined || isLongExpired(envelope, deps.now())) throw new ServiceError('invalid_ticket');
  const ticketHash = hashSecret(ticket);
  let question: AdmissionQuestion;
  let planned: Planned;
  try {
    question = read();
    compareBindings(envelope.bindings, bindingsOf(question.bindings));
    planned = plan(deps, question, envelope.preferences);
  } catch (error) {
    // A used or expired ticket is 401 whatever else is wrong (design 4, step 3); a valid one is left untouched.
    if (error instanceof ServiceError && error.status < 500) await assertTicketValid(deps, envelope, ticketHash);
    throw error;
  }
  const redeemed = await redeem(deps.holds, {
    shard: envelope.shard,
    accountRef: envelope.accountRef,
    right: { kind: 'ticket', ticketHash },
    generation: envelope.generation,
    ...holdOrder(question, planned),
  });
  if (redeemed.result !== 'admitted') throw new ServiceError('invalid_ticket');
  const { holdId, rate } = redeemed;
  return { ...planned, shard: envelope.shard, holdId, rate, accountRef: envelope.accountRef };
}

const longMs = 24 * 3_600_000;

/**
 * Whether a ticket's time passed long ago. That it has passed just now, its mark says, by one clock for all: this
 * machine's may have stepped.
 */
export const isLongExpired = ({ expiresAt }: Pick<TicketEnvelope, 'expiresAt'>, now: number): boolean =>
  expiresAt + longMs <= now;

/** Throws `invalid_ticket` for one that was used or has expired. */
export async function assertTicketValid(
  deps: Pick<AdmissionDependencies, 'state'>,
  envelope: TicketEnvelope,
  ticketHash: string,
): Promise<void> {
  let valid: boolean;
  try {
    valid = await deps.state.isTicketValid(envelope.shard, ticketHash);
  } catch (error) {
    if (error instanceof StateUnavailableError) throw new ServiceError('service_unavailable');
    throw error;
  }
  if (!valid) throw new ServiceError('invalid_ticket');
}

function compareBindings(bound: TicketBindings, asked: TicketBindings): void {
  if (bound.operation !== asked.operation) {
    throw new ServiceError('ticket_model_mismatch', {
      message: `The ticket was issued for ${bound.operation}, not for ${asked.operation}.`,
    });
  }
  if (bound.model !== asked.model) throw new ServiceError('ticket_model_mismatch');
  if (bound.reasoning !== asked.reasoning) throw new ServiceError('ticket_reasoning_mismatch');
  if (bound.policy !== asked.policy) throw new ServiceError('ticket_provider_policy_mismatch');
  if (bound.media !== asked.media) {
    throw new ServiceError('ticket_media_mismatch', { message: mediaMismatches[asked.operation] });
  }
}

const mediaMismatches: Partial<Record<TicketBindings['operation'], string>> = {
  image: '`size` or `response_format` differs from what the ticket was issued for.',
  speech:
    '`voice`, `response_format` or the length of `input` differs from what the ticket was issued for: ' +
    '`input_chars` is its exact length in UTF-16 code units.',
};

async function admitByKey(
  deps: AdmissionDependencies,
  apiKey: string,
  read: () => AdmissionQuestion,
): Promise<Admission> {
  const { keyHash, key: found } = await findKey(deps, apiKey);
  let key = found;
  const question = read();
  // A key that changes between plan and redeem comes back with the reply; one that changes every time is not waited for.
  for (let tries = 0; tries < 3; tries += 1) {
    let planned: Planned;
    try {
      assertCompatible(key);
      planned = plan(deps, question, key.record.preferences);
    } catch (error) {
      const newer = await newerKey(deps, apiKey, key, error);
      if (newer === undefined) throw error;
      key = newer;
      continue;
    }
    const { shard, generation } = key;
    const { accountRef } = key.record;
    const right = { kind: 'key', keyHash } as const;
    const order = { shard, accountRef, right, generation, ...holdOrder(question, planned) };
    const redeemed = await redeem(deps.holds, order).catch((error: unknown) => {
      if (error instanceof ServiceError && error.type === 'invalid_api_key') deps.keys.drop(keyHash);
      throw error;
    });
    if (redeemed.result === 'admitted') {
      const { holdId, rate } = redeemed;
      return { ...planned, shard, holdId, rate, accountRef };
    }
    key = redeemed.key;
    deps.keys.put(keyHash, key);
  }
  throw new ServiceError('service_unavailable');
}

/**
 * The record of a key that was refused by a cached one, where there is a newer: what a workspace allows anew must reach
 * its keys as soon as what it forbids, and a refusal comes before any script compares generations.
 */
async function newerKey(
  deps: Pick<AdmissionDependencies, 'keys'>,
  apiKey: string,
  known: VersionedKey,
  refusal: unknown,
): Promise<VersionedKey | undefined> {
  if (!(refusal instanceof ServiceError) || refusal.status >= 500) return undefined;
  const { key } = await findKey(deps, apiKey, { fresh: true });
  return key.generation === known.generation ? undefined : key;
}

/** Finds the key of compatibility mode, or throws what its caller must be told. */
export async function findKey(
  deps: Pick<AdmissionDependencies, 'keys'>,
  apiKey: string,
  { fresh = false } = {},
): Promise<{ readonly keyHash: string; readonly key: VersionedKey }> {
  if (apiKeyKind(apiKey) === undefined) throw new ServiceError('invalid_api_key');
  try {
    const found = fresh
      ? { keyHash: hashSecret(apiKey), key: await deps.keys.fresh(apiKey) }
      : await deps.keys.find(apiKey);
    if (found.key === undefined) throw new ServiceError('invalid_api_key');
    return { keyHash: found.keyHash, key: found.key };
  } catch (error) {
    if (error instanceof StateUnavailableError) throw new ServiceError('service_unavailable');
    throw error;
  }
}

export function assertCompatible({ record }: VersionedKey): void {
  if (record.kind !== 'inference') {
    throw new ServiceError('insufficient_scope', { message: 'A management key cannot be used for inference.' });
  }
  if (!record.openaiCompatible) throw new ServiceError('compatibility_access_disabled');
}

interface Planned {
  readonly plan: Plan;
  readonly attempts: readonly Route[];
  readonly holdNusd: Nusd;
  readonly catalogDigest: string;
}

function plan(deps: AdmissionDependencies, question: AdmissionQuestion, preferences: Preferences): Planned {
  const { catalog } = deps.view;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const decided = question.plan({ catalog, preferences, status: deps.view.status(), random: deps.random });
  if (!decided.ok) throw new ServiceError(decided.refusal.type, decided.refusal);
  const attempts = attemptsOf(decided.value);
  return { plan: decided.value, attempts, holdNusd: question.holdOf(attempts), catalogDigest: catalog.digest };
}

const holdOrder = (question: AdmissionQuestion, { holdNusd }: Planned) => ({
  amountNusd: holdNusd,
  estimatedTokens: question.size.promptTokensLikely,
});
