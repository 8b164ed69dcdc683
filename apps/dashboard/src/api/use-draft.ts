import { useEffect, useState } from 'react';
import { useSignedIn } from '../session/session.ts';
import { makeTabState } from '../session/tab-state.ts';

/** What a user typed or chose in a form, by field. */
export type Draft = Readonly<Record<string, unknown>>;

/** Drafts of forms that are to be shown again, by user and form. */
const kept = makeTabState<Readonly<Record<string, Draft>>>({});

const isSecret = (name: string): boolean => /password|^code$/i.test(name);

/** The draft of a form. `keep` keeps some of its fields until the form is shown again to the same user, but no passwords and codes. */
export function useDraft(form: string) {
  // A refusal may arrive after another user has signed in, who must not get what this one typed.
  const place = `${useSignedIn()?.id} ${form}`;
  const [draft, setDraft] = useState<Draft>(() => kept.now()[place] ?? {});
  const forget = (): void => kept.update(without([place]));
  // It was kept for this form. The next one begins anew.
  useEffect(forget, [place]);
  return {
    draft,
    set: (name: string, value: unknown): void => setDraft((before) => ({ ...before, [name]: value })),
    clear: (names: readonly string[]): void => setDraft(without(names)),
    keep: (names: readonly string[]): void => {
      const typed = without(Object.keys(draft).filter((name) => isSecret(name) || !names.includes(name)))(draft);
      kept.update((before) => ({ ...before, [place]: typed }));
    },
    forget,
  };
}

const without =
  (names: readonly string[]) =>
  <Value>(values: Readonly<Record<string, Value>>): Readonly<Record<string, Value>> =>
    Object.fromEntries(Object.entries(values).filter(([name]) => !names.includes(name)));
