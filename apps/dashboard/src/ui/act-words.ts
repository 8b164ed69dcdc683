import type { ActAnswer } from '@sotto/contract/control/audit';
import { formatUsd, formatUtcInstant } from '../format/format.ts';

type Details = ActAnswer['details'];

/** The act, such as "Key changed". */
export function sentenceOf({ act }: ActAnswer): string {
  const words = act.replaceAll('_', ' ');
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

/** Who acted. An id names who has no name any more. */
export function actorOf({ actor, actor_account_id, actor_email }: ActAnswer): string {
  if (actor === 'command_line') return 'Command line';
  if (actor === 'identity_provider') return 'Identity provider';
  if (actor === 'app') return 'The app';
  return actor_email ?? (actor_account_id === null ? 'The operator' : `Account ${actor_account_id}`);
}

/** Whom the act concerns. Null: no account. */
export const concernedOf = ({ account_id, account_email }: ActAnswer): string | null =>
  account_email ?? (account_id === null ? null : `Account ${account_id}`);

/**
 * The details of an act in words. Ids that have a name are named, and limits that were removed are told. A limit that was not set
 * when something was created is left out, and so is the id of a budget, whose member, key or tag is told.
 */
export const detailsOf = (act: ActAnswer): string =>
  Object.entries(act.details)
    .filter(
      ([field, value]) =>
        (field !== 'budget_id' || act.tag !== null) && (value !== null || !act.act.endsWith('_created')),
    )
    .map(([field, value]) => detailOf(act, field, value))
    .join(', ');

const fieldWords: Readonly<Record<string, string>> = {
  openai_compatible: 'compatibility access',
  expires_at: 'expiry',
};

function detailOf(act: ActAnswer, field: string, value: Details[string]): string {
  const start = String(value).slice(0, 8);
  if (field === 'key_id') return `key ${act.key_name ?? start}`;
  if (field === 'budget_id') return `tag ${act.tag}`;
  if (field === 'invitation_id') return `invitation ${act.invited_email ?? start}`;
  if (field.endsWith('_id')) return `${field.slice(0, -3).replaceAll('_', ' ')} ${start}`;
  const words = fieldWords[field] ?? field.replace(/_usd$/, '').replaceAll('_', ' ');
  if (value === null) return act.act === 'account_grant_set' ? 'the amount of every account' : `${words} removed`;
  // Names and tags of keys are not in the log, only that they changed.
  if (value === true && (field === 'renamed' || field === 'tag_changed')) return words;
  if (field.endsWith('_at')) return `${words} ${formatUtcInstant(String(value))}`;
  if (typeof value === 'number' && field.endsWith('_usd')) return `${words} ${formatUsd(value)}`;
  return `${words} ${typeof value === 'boolean' ? (value ? 'on' : 'off') : value}`;
}
