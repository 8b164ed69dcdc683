/** The most that one account may have of something. The operator sets it. */
export interface Maximum {
  /** The environment variable that sets it. */
  readonly setting: string;
  /** Its default. */
  readonly usual: number;
  /** Completes "at most 500". */
  readonly what: string;
  /** What counts besides what the account has now. */
  readonly note?: string;
}

const dayForCreator =
  'A revoked one counts for another day, for the member who created it, and an expired one for all. So this also limits how many one creates in a day.';
const day = 'An ended one counts for another day, so this also limits how many an account creates in a day.';
const removed = 'A removed one counts for another day, unless it is set again.';

/** The maxima of an account. Settings, the reference and the errors of the routes that create something follow from these rows. */
export const maxima = {
  keys: { setting: 'MAX_KEYS', usual: 500, what: 'keys that the account pays for', note: dayForCreator },
  workspaces: { setting: 'MAX_WORKSPACES', usual: 100, what: 'workspaces that the account owns', note: day },
  budgets: { setting: 'MAX_BUDGETS', usual: 500, what: 'budgets in workspaces that the account owns', note: removed },
  apps: { setting: 'MAX_APPS', usual: 50, what: 'apps that the account registered', note: day },
  invitations: {
    setting: 'MAX_INVITATIONS',
    usual: 200,
    what: 'pending invitations to workspaces that the account owns',
  },
  passkeys: { setting: 'MAX_PASSKEYS', usual: 20, what: 'passkeys of the account' },
} as const satisfies Readonly<Record<string, Maximum>>;

export type MaximumName = keyof typeof maxima;

export type Maxima = Readonly<Record<MaximumName, number>>;

/** The maxima of a deployment whose operator sets none. */
export const usualMaxima = Object.fromEntries(
  Object.entries(maxima).map(([name, { usual }]) => [name, usual]),
) as Readonly<Record<MaximumName, number>>;
