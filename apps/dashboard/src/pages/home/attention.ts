import type { MeasurementsAnswer } from '@sotto/contract/control/catalog';
import type { KeyAnswer } from '@sotto/contract/control/keys';
import { isRoleAtLeast, type WorkspaceRole } from '@sotto/contract/control/workspace-role';
import type { BudgetAnswer } from '@sotto/contract/control/workspaces';
import { dayMs } from '../../format/days.ts';
import {
  formatBalance,
  formatCount,
  formatCountOf,
  formatLastDay,
  formatShare,
  formatShortDay,
  formatUsd,
} from '../../format/format.ts';
import { type Names, ownerOf, projectedUsd, shareOf } from '../budgets/budget-rules.ts';
import { limitOf } from '../keys/key-rules.ts';
import type { Ends } from './overview-figures.ts';

/** Something that needs attention, and the page where the reader can act on it. */
export interface Concern {
  readonly id: string;
  readonly tone: 'danger' | 'warn' | 'info';
  readonly text: string;
  readonly action: string;
  readonly to: '/billing' | '/budgets' | '/keys' | '/account' | '/first-steps' | '/models' | '/usage';
  /** The model whose page is meant, for `/models`. */
  readonly model?: string;
}

/** The balance that pays for the workspace. Only its owner knows it. */
export interface Funds {
  readonly availableUsd: number;
  /** At the present rate; undefined if it lasts for longer than a year. */
  readonly daysLeft: number | undefined;
  /** Whether it is below the amount at which the owner asked to be told. */
  readonly isLow: boolean;
  /** Why auto top-up is paused. */
  readonly topUpProblem: string | undefined;
  /** When the next monthly grant comes; undefined where balance is bought. */
  readonly renewsAt: string | undefined;
}

export interface AttentionFacts {
  readonly now: number;
  readonly role: WorkspaceRole;
  readonly ownAccountId: string | undefined;
  readonly funds: Funds | undefined;
  readonly budgets: readonly BudgetAnswer[];
  readonly keys: readonly KeyAnswer[];
  readonly names: Names;
  /** The address can be confirmed, and is not. */
  readonly isUnconfirmed: boolean;
  /** How the requests of the last seven days ended. */
  readonly ends: Ends;
  /** How the routes of the models in use did in the last 24 hours. */
  readonly measured: MeasurementsAnswer['data'];
}

const fewDays = 3;
/** A route with less success in 24 hours has an incident. */
const leastSuccess = 0.95;
/** So many failures, and so large a share of all requests, are worth a line. */
const manyFailures = 5;
const failedShare = 0.1;
/** More of a kind than these become one line. */
const mostLines = 3;

/** Returns what needs the reader's attention, the most urgent first. */
export function concernsOf(facts: AttentionFacts): readonly Concern[] {
  const all = [
    ...(facts.funds === undefined ? [] : concernsOfFunds(facts.funds, facts.now)),
    ...concernsOfBudgets(facts),
    ...concernsOfKeys(facts),
    ...concernsOfExpiry(facts),
    ...failures(facts),
    ...incidents(facts.measured),
    ...(facts.isUnconfirmed ? [unconfirmed] : []),
    ...(facts.ownAccountId !== undefined &&
    isRoleAtLeast(facts.role, 'member') &&
    !facts.keys.some((key) => key.created_by === facts.ownAccountId && isActive(key) && !hasExpired(key, facts.now))
      ? [noKey]
      : []),
  ];
  return mostUrgentFirst(all);
}

const urgency = ['danger', 'warn', 'info'];
const mostUrgentFirst = (concerns: readonly Concern[]): readonly Concern[] =>
  concerns.toSorted((left, right) => urgency.indexOf(left.tone) - urgency.indexOf(right.tone));

const unconfirmed: Concern = {
  id: 'unconfirmed',
  tone: 'info',
  text: 'Your address is not confirmed, so you cannot use passkeys, an authenticator app or invitations.',
  action: 'Confirm it',
  to: '/account',
};

const noKey: Concern = {
  id: 'no-key',
  tone: 'info',
  text: 'You have no key of your own in this workspace.',
  action: 'First steps',
  to: '/first-steps',
};

function concernsOfFunds({ availableUsd, daysLeft, isLow, topUpProblem, renewsAt }: Funds, now: number): Concern[] {
  const isGrant = renewsAt !== undefined;
  const balance = formatBalance(availableUsd);
  const fund = { to: '/billing', action: isGrant ? 'See your grant' : 'Add funds' } as const;
  const concerns: Concern[] = [];
  if (availableUsd <= 0) {
    const text = isGrant
      ? 'Your balance is empty, so requests that cost something are rejected. Ask your operator for more.'
      : 'Your balance is empty, so requests are rejected.';
    concerns.push({ id: 'balance', tone: 'danger', text, ...fund });
  } else if (isGrant) {
    if (daysLeft !== undefined && daysLeft < Math.floor((Date.parse(renewsAt) - now) / dayMs)) {
      const renewal = `before the next grant on ${formatShortDay(renewsAt.slice(0, 10))}`;
      const text = `At the present rate your balance of ${balance} runs out in ${formatDays(daysLeft)}, ${renewal}.`;
      concerns.push({ id: 'balance', tone: 'warn', text, ...fund });
    }
  } else if (isLow || (daysLeft !== undefined && daysLeft < fewDays)) {
    const rest = daysLeft === undefined ? '' : `, which lasts ${formatDays(daysLeft)} at the present rate`;
    concerns.push({ id: 'balance', tone: 'warn', text: `Your balance is ${balance}${rest}.`, ...fund });
  }
  if (topUpProblem !== undefined) {
    const text = `Auto top-up is paused: ${topUpProblem}`;
    concerns.push({ id: 'top-up', tone: 'warn', text, action: 'See billing', to: '/billing' });
  }
  return concerns;
}

/** Days in words. */
export const formatDays = (days: number): string =>
  days < 1 ? 'less than a day' : `about ${formatCountOf(days, 'day')}`;

function concernsOfBudgets({ budgets, keys, names, role, ownAccountId, now }: AttentionFacts): readonly Concern[] {
  const own = keys.filter(({ created_by }) => created_by === ownAccountId);
  const concerns = budgets
    .filter(
      ({ scope, member_id, key_id, tag: limited }) =>
        isRoleAtLeast(role, 'admin') ||
        scope === 'workspace' ||
        member_id === ownAccountId ||
        own.some(({ id, tag }) => id === key_id || (tag !== null && tag === limited)),
    )
    .flatMap((budget): Concern[] => {
      const line = { id: `budget ${budget.id}`, to: '/budgets', action: 'See budgets' } as const;
      const whose =
        budget.scope === 'workspace' ? 'The budget of the workspace' : `The budget of ${ownerOf(budget, names)}`;
      const used = `${formatUsd(budget.spent_usd)} of ${formatUsd(budget.limit_usd)}`;
      const { state, share } = shareOf(budget);
      const until = formatShortDay(budget.month_ends_at.slice(0, 10));
      if (state === 'reached')
        return [{ ...line, tone: 'danger', text: `${whose} is used up: requests are rejected until ${until}.` }];
      if (state === 'near')
        return [{ ...line, tone: 'warn', text: `${whose} is at ${formatShare(share)}: ${used} until ${until}.` }];
      const projected = projectedUsd(budget, now);
      if (projected === undefined || projected <= budget.limit_usd) return [];
      const course = `${formatUsd(projected)} by ${until}, its limit is ${formatUsd(budget.limit_usd)}`;
      return [{ ...line, tone: 'info', text: `${whose} runs out early: at the present rate ${course}.` }];
    });
  return together(concerns, 'budget', (count) => `${count} are used up, nearly used up or on course to run out early.`);
}

const isActive = ({ kind, revoked_at, disabled_at }: KeyAnswer): boolean =>
  kind === 'inference' && revoked_at === null && disabled_at === null;
const hasExpired = ({ expires_at: at }: KeyAnswer, now: number): boolean => at !== null && Date.parse(at) <= now;

/** Whether a key lasts for a day, as the playground creates it. It is meant to end, and to be small. */
const isOfADay = ({ expires_at: at, created_at: createdAt }: KeyAnswer): boolean =>
  at !== null && Date.parse(at) - Date.parse(createdAt) <= dayMs;

/** The own keys of a member, and all keys for an admin, that work or have expired. */
const keysOf = ({ keys, role, ownAccountId }: AttentionFacts): readonly KeyAnswer[] =>
  keys.filter(
    (key) => isActive(key) && !isOfADay(key) && (isRoleAtLeast(role, 'admin') || key.created_by === ownAccountId),
  );

/** A key is named so long before it expires. */
const expiryDays = 7;

function concernsOfExpiry(facts: AttentionFacts): readonly Concern[] {
  const concerns = keysOf(facts).flatMap(({ id, name, expires_at: at }): Concern[] => {
    if (at === null) return [];
    const days = (Date.parse(at) - facts.now) / dayMs;
    // A key that expired long ago does not need attention any more.
    if (days > expiryDays || days < -expiryDays) return [];
    const line = { id: `expiry ${id}`, to: '/keys', action: 'See keys' } as const;
    const day = formatLastDay(at);
    return days <= 0
      ? [{ ...line, tone: 'warn', text: `The key ${name} expired on ${day}. Its requests are rejected.` }]
      : [{ ...line, tone: days < 1 ? 'warn' : 'info', text: `The key ${name} expires on ${day}.` }];
  });
  return together(concerns, 'key', (count) => `${count} have expired or expire within ${expiryDays} days.`);
}

function concernsOfKeys(facts: AttentionFacts): readonly Concern[] {
  const concerns = keysOf(facts).flatMap((key): Concern[] => {
    const limit = limitOf(key);
    if (limit === undefined || limit.state === 'open' || hasExpired(key, facts.now)) return [];
    const line = { id: `key ${key.id}`, to: '/keys', action: 'See keys' } as const;
    const used = `${formatUsd(key.spent_usd)} of ${formatUsd(limit.limitUsd)}`;
    return limit.state === 'reached'
      ? [
          {
            ...line,
            tone: 'danger',
            text: `The key ${key.name} is at its limit: ${used}. Its requests are rejected.`,
          },
        ]
      : [{ ...line, tone: 'warn', text: `The key ${key.name} is near its limit: ${used}.` }];
  });
  return together(concerns, 'key', (count) => `${count} are at or near their limit.`);
}

/** Viewers may not see which requests failed. */
const failures = ({ role, ends: { requests, failed } }: AttentionFacts): readonly Concern[] =>
  failed < manyFailures || failed < failedShare * requests || !isRoleAtLeast(role, 'member')
    ? []
    : [
        {
          id: 'failures',
          tone: 'warn',
          text: `${formatCount(failed)} of ${formatCountOf(requests, 'request')} of the last seven days failed.`,
          action: 'See them',
          to: '/usage',
        },
      ];

const incidents = (measured: MeasurementsAnswer['data']): readonly Concern[] =>
  together(
    measured.flatMap(({ model, routes }) =>
      routes.flatMap(({ provider, success_rate: success }, place): Concern[] =>
        success === null || success >= leastSuccess
          ? []
          : [
              {
                id: `route ${model} ${place}`,
                tone: 'warn',
                text: `${provider} had an incident with ${model}: ${formatShare(success)} of requests succeeded in the last 24 hours.`,
                action: 'See the model',
                to: '/models',
                model,
              },
            ],
      ),
    ),
    'provider route',
    (count) => `${count} of your models had incidents in the last 24 hours.`,
  );

/** The lines; one for all if there are too many. */
function together(concerns: readonly Concern[], thing: string, textOf: (count: string) => string): readonly Concern[] {
  const [worst] = mostUrgentFirst(concerns);
  if (worst === undefined || concerns.length <= mostLines) return concerns;
  const { id, tone, action, to } = worst;
  return [{ id, tone, action, to, text: textOf(formatCountOf(concerns.length, thing)) }];
}
