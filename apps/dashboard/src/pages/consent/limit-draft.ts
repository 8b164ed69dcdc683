import { readUsd, usdMistake } from '../../format/read-usd.ts';

/** What an app may spend, as somebody types it. */
export interface LimitDraft {
  readonly text: string;
  readonly isUnlimited: boolean;
}

/** Small: enough to try an app, little to lose. */
export const firstLimit: LimitDraft = { text: '5', isUnlimited: false };

export type LimitReading =
  | { readonly ok: true; readonly usd: number | null }
  | { readonly ok: false; readonly error: string };

/** The limit in USD, null for none; or what would be right. */
export function readLimit({ text, isUnlimited }: LimitDraft): LimitReading {
  if (isUnlimited) return { ok: true, usd: null };
  const usd = readUsd(text);
  return usd === undefined || usd === null ? { ok: false, error: usdMistake } : { ok: true, usd };
}
