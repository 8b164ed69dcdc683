import type { Nusd, TokenBounds } from '@sotto/money';
import {
  attemptsOf,
  type Decision,
  type Needs,
  type Plan,
  type PlanningContext,
  type RequestPreferences,
  type RequestSize,
  type Route,
  withinPolicy,
} from '@sotto/router';
import {
  bindingsOf,
  type HoldBook,
  isSameReasoningBinding,
  type RateStatus,
  type Right,
  type TicketBindings,
  type VersionedKey,
} from '@sotto/state';
import { assertModelsAllowed, ServiceError } from '@sotto/wire';
import type { SharedView } from '../planning/shared-view.ts';
import {
  type Accepts,
  type CredentialDependencies,
  findKey,
  type KeyCredential,
  keyRight,
  type TicketCredential,
} from './credential.ts';
import type { Exchange } from './exchange.ts';
import { roundedUp } from './quiet.ts';
import { redeem } from './redeem.ts';

/** A request that may run: its plan, its hold, and the account that the ledger will charge. */
export interface Admission {
  readonly plan: Plan;
  readonly attempts: readonly Route[];
  /** The credential that was redeemed. */
  readonly right: Right;
  /** Digest of the catalog that the plan was made with. */
  readonly catalogDigest: string;
  readonly shard: number;
  readonly holdId: string;
  /** The month in whose budgets the hold counts. */
  readonly month: string;
  /** The most that the request can cost. A quiet one holds more. */
  readonly holdNusd: Nusd;
  readonly accountRef: string;
  readonly rate: RateStatus;
  /** Whether nothing but the charge may tell what the request was. */
  readonly isQuiet: boolean;
}

export interface Admitted<Question> {
  readonly admission: Admission;
  readonly question: Question;
}

/** An operation's answers to admission, once its body is read. */
export interface AdmissionQuestion {
  readonly needs: Needs;
  readonly size: RequestSize;
  readonly bindings: Parameters<typeof bindingsOf>[0];
  plan(context: PlanningContext): Decision<Plan>;
  holdOf(attempts: readonly Route[]): Nusd;
  /** The most that an attempt on a route of the plan can use. The hold, the provider's limit and the charge keep to it. */
  bounds(route: Route): TokenBounds;
  /** Drops the content, once no further attempt can begin. Sizes, settings and bounds stay. */
  forget(): void;
}

export interface AdmissionDependencies extends CredentialDependencies {
  readonly holds: HoldBook;
  readonly view: SharedView;
  /** Draws which of the routes that share traffic goes first. */
  readonly random: () => number;
}

/**
 * Decides whether a request may run, by ticket or by key, and sets its money aside. `read` parses the body. It runs
 * after the credential was read, so that a caller without one learns nothing about its body. The exchange keeps the facts
 * that a refusal tells beside its error.
 */
export async function admit<Question extends AdmissionQuestion>(
  deps: AdmissionDependencies,
  exchange: Exchange,
  { accepts, read }: { readonly accepts: Accepts; readonly read: () => Question },
): Promise<Admitted<Question>> {
  const credential = await exchange.credential(deps, accepts);
  return credential.kind === 'key'
    ? admitByKey(deps, credential, read, exchange)
    : admitByTicket(deps, credential, read, exchange);
}

async function admitByTicket<Question extends AdmissionQuestion>(
  deps: AdmissionDependencies,
  { envelope, ticketHash }: TicketCredential,
  read: () => Question,
  exchange: Exchange,
): Promise<Admitted<Question>> {
  const question = read();
  compareBindings(envelope.bindings, bindingsOf(question.bindings));
  const planned = planAsStated(deps, question, envelope.preferences, exchange);
  const { shard, accountRef, quiet: isQuiet = false } = envelope;
  const right = { kind: 'ticket', ticketHash } as const;
  const asked = holdOrder(question, planned);
  const order = { shard, accountRef, right, ...(isQuiet ? roundedUp(asked) : asked) };
  const redeemed = await redeem(deps.holds, order, exchange);
  if (redeemed.result !== 'admitted') throw new ServiceError('invalid_ticket');
  const { holdId, month, rate } = redeemed;
  return { admission: { ...planned, right, shard, holdId, month, rate, accountRef, isQuiet }, question };
}

/**
 * Plans with a ticket's preferences. Their floor is the class that the ticket stated. So a route that has a weaker class since then
 * does not serve, and the ticket stays valid.
 */
function planAsStated(
  deps: AdmissionDependencies,
  question: AdmissionQuestion,
  preferences: RequestPreferences,
  exchange: Exchange,
): Planned {
  try {
    return plan(deps, question, preferences, exchange);
  } catch (error) {
    const { provider_minimum_privacy: stated } = preferences;
    const isBelow = error instanceof ServiceError && error.type === 'no_provider_route_meets_privacy';
    if (!isBelow || stated === 'anonymous') throw error;
    const message = `${error.message} The ticket states \`${stated}\`, and no weaker provider serves it. It stays valid.`;
    throw new ServiceError(error.type, { message, param: error.param });
  }
}

function compareBindings(bound: TicketBindings, asked: TicketBindings): void {
  if (bound.operation !== asked.operation) {
    throw new ServiceError('ticket_model_mismatch', {
      message: `The ticket was issued for ${bound.operation}, not for ${asked.operation}.`,
    });
  }
  if (bound.model !== asked.model) throw new ServiceError('ticket_model_mismatch');
  if (!isSameReasoningBinding(bound.reasoning, asked.reasoning)) throw new ServiceError('ticket_reasoning_mismatch');
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

async function admitByKey<Question extends AdmissionQuestion>(
  deps: AdmissionDependencies,
  { apiKey, secretHash, key: found }: KeyCredential,
  read: () => Question,
  exchange: Exchange,
): Promise<Admitted<Question>> {
  let key = found;
  // The key's rights are judged before the body, so that a caller without them learns nothing about the body.
  try {
    assertCompatible(key);
  } catch (error) {
    const newer = await newerKey(deps, apiKey, key, error);
    if (newer === undefined) throw error;
    key = newer;
    assertCompatible(key);
  }
  const question = read();
  // A key that changes between planning and redeeming comes back with the reply. Give up on a key that changes every
  // time.
  for (let tries = 0; tries < 3; tries += 1) {
    let planned: Planned;
    try {
      assertCompatible(key);
      assertModelsAllowed(key.record, question.bindings);
      planned = plan(deps, question, preferencesOf(deps, key, question), exchange);
    } catch (error) {
      const newer = await newerKey(deps, apiKey, key, error);
      if (newer === undefined) throw error;
      key = newer;
      continue;
    }
    const { shard, generation } = key;
    const { accountRef } = key.record;
    const right = keyRight({ key, secretHash });
    const order = { shard, accountRef, right, generation, ...holdOrder(question, planned) };
    const redeemed = await redeem(deps.holds, order, exchange).catch((error: unknown) => {
      if (error instanceof ServiceError && error.type === 'invalid_api_key') deps.keys.drop(secretHash);
      throw error;
    });
    if (redeemed.result === 'admitted') {
      const { holdId, month, rate } = redeemed;
      return { admission: { ...planned, right, shard, holdId, month, rate, accountRef, isQuiet: false }, question };
    }
    key = { ...redeemed.key, keyHash: key.keyHash };
    deps.keys.put(secretHash, key);
  }
  throw new ServiceError('service_unavailable');
}

/**
 * Reads a key's record again when the cached one refused its request. The workspace may have allowed the request
 * meanwhile, and no script has compared generations before a refusal. Undefined if the record is the same.
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

/** The preferences that the requests of a key are planned with. */
function preferencesOf({ view }: AdmissionDependencies, { record }: VersionedKey, question: AdmissionQuestion) {
  const { preferences, workspaceModels } = record;
  const { catalog } = view;
  const request = question.bindings;
  return catalog === undefined ? preferences : withinPolicy(preferences, { request, catalog, workspaceModels });
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

function plan(
  deps: AdmissionDependencies,
  question: AdmissionQuestion,
  preferences: RequestPreferences,
  exchange: Exchange,
): Planned {
  const { catalog } = deps.view;
  if (catalog === undefined) throw new ServiceError('service_unavailable');
  const decided = question.plan({ catalog, preferences, status: deps.view.status(), random: deps.random });
  if (!decided.ok) throw new ServiceError(decided.refusal.type, decided.refusal);
  const attempts = attemptsOf(decided.value);
  const [first] = attempts;
  if (first !== undefined) exchange.chosen = { plan: decided.value, route: first };
  return { plan: decided.value, attempts, holdNusd: question.holdOf(attempts), catalogDigest: catalog.digest };
}

const holdOrder = (question: AdmissionQuestion, { holdNusd }: Planned) => ({
  amountNusd: holdNusd,
  // A free request is admitted even if the balance or a budget is overdrawn.
  free: holdNusd === 0n,
  estimatedTokens: question.size.promptTokensLikely,
});
