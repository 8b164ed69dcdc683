import { useSyncExternalStore } from 'react';
import type { Answer } from '../api/call.ts';

/** The key of the playground, as this tab keeps it. */
export interface TabKey {
  readonly key: string;
  /** Present if this tab created the key: then it can be revoked here. */
  readonly made?: {
    readonly id: string;
    readonly limitUsd: number | null;
    readonly expiresAt: string | null;
    readonly isCompatible: boolean;
    /** A request created it, for this tab alone. */
    readonly isAutomatic?: boolean;
  };
}

/** Whether the key is one for programs, and not only for this tab. */
export const isForPrograms = ({ made }: TabKey): boolean => made?.isAutomatic !== true;

const storageName = (workspaceId: string): string => `sotto.playground.key.${workspaceId}`;

/** The default limit of a key that the playground creates, in USD. */
export const defaultLimitUsd = 1;

export const tabKeyOf = (answer: Answer<'POST /v1/keys'>, isAutomatic = false): TabKey => ({
  key: answer.key,
  made: {
    id: answer.id,
    limitUsd: answer.credit_limit_usd,
    expiresAt: answer.expires_at,
    isCompatible: answer.openai_compatible,
    isAutomatic,
  },
});

/** Reads a typed or pasted key; undefined if it is not an inference key. */
export function readKey(typed: string): string | undefined {
  const key = typed.trim();
  return /^sotto_inf_[A-Za-z0-9_-]{20,200}$/.test(key) ? key : undefined;
}

const listeners = new Set<() => void>();
const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Keeps a key for a workspace, or forgets it. */
export function keepTabKey(workspaceId: string, key: TabKey | undefined): void {
  if (key === undefined) sessionStorage.removeItem(storageName(workspaceId));
  else sessionStorage.setItem(storageName(workspaceId), JSON.stringify(key));
  for (const listener of listeners) listener();
}

/** A request that is sent this close to the end of its key may be refused. */
const marginMs = 60_000;

const readStored = (stored: string | null): TabKey | undefined => {
  const key = stored === null ? undefined : (JSON.parse(stored) as TabKey);
  const ends = key?.made?.expiresAt == null ? Number.POSITIVE_INFINITY : Date.parse(key.made.expiresAt);
  return ends < Date.now() + marginMs ? undefined : key;
};

const storedFor = (workspaceId: string): string | null => sessionStorage.getItem(storageName(workspaceId));

/** The key of a workspace; undefined if there is none, or if it ends now. */
export const tabKeyNow = (workspaceId: string): TabKey | undefined => readStored(storedFor(workspaceId));

/** Forgets the key of a workspace if it is this one, which does not work any more. */
export function forgetMadeKey(workspaceId: string, keyId: string): void {
  if (tabKeyNow(workspaceId)?.made?.id === keyId) keepTabKey(workspaceId, undefined);
}

/** The key of a workspace, and a function that keeps another. It is forgotten when the tab closes or the user signs out. */
export function useTabKey(workspaceId: string): readonly [TabKey | undefined, (key: TabKey | undefined) => void] {
  const stored = useSyncExternalStore(subscribe, () => storedFor(workspaceId));
  return [readStored(stored), (key) => keepTabKey(workspaceId, key)];
}
