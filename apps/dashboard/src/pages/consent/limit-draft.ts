/** What an app may spend, as somebody types it. */
export interface LimitDraft {
  readonly text: string;
  readonly isUnlimited: boolean;
}

/** Small: enough to try an app, little to lose. */
export const firstLimit: LimitDraft = { text: '5', isUnlimited: false };

const mostUsd = 1_000_000;

export type LimitReading =
  | { readonly ok: true; readonly usd: number | null }
  | { readonly ok: false; readonly error: string };

/** The limit in USD, null for none; or what would be right. */
export function readLimit({ text, isUnlimited }: LimitDraft): LimitReading {
  if (isUnlimited) return { ok: true, usd: null };
  const trimmed = text.trim();
  const usd = Number(trimmed);
  if (/^\d+(?:\.\d{1,9})?$/.test(trimmed) && usd <= mostUsd) return { ok: true, usd };
  return { ok: false, error: 'An amount in USD, such as 5 or 12.50.' };
}
