import { useState } from 'react';
import type { Answer } from '../api/call.ts';

/** The key of the playground, as this tab keeps it. */
export interface TabKey {
  readonly key: string;
  /** Present if the playground created the key: then it can be revoked here. */
  readonly made?: { readonly id: string; readonly limitUsd: number | null };
}

const storageName = (workspaceId: string): string => `sotto.playground.key.${workspaceId}`;

/** The default limit of a key that the playground creates, in USD. */
export const defaultLimitUsd = 1;

export const tabKeyOf = ({ id, key, credit_limit_usd: limitUsd }: Answer<'POST /v1/keys'>): TabKey => ({
  key,
  made: { id, limitUsd },
});

/** Reads a typed or pasted key; undefined if it is not an inference key. */
export function readKey(typed: string): string | undefined {
  const key = typed.trim();
  return /^sotto_inf_[A-Za-z0-9_-]{20,200}$/.test(key) ? key : undefined;
}

/** The key of a workspace. It is forgotten when the tab closes or the user signs out. */
export function useTabKey(workspaceId: string): readonly [TabKey | undefined, (key: TabKey | undefined) => void] {
  const [, redraw] = useState(0);
  const change = (key: TabKey | undefined): void => {
    if (key === undefined) sessionStorage.removeItem(storageName(workspaceId));
    else sessionStorage.setItem(storageName(workspaceId), JSON.stringify(key));
    redraw((count) => count + 1);
  };
  const stored = sessionStorage.getItem(storageName(workspaceId));
  return [stored === null ? undefined : (JSON.parse(stored) as TabKey), change];
}
