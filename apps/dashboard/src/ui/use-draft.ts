import { useState } from 'react';

/**
 * What stands in a text control whose value lives elsewhere, such as in the address, and follows a moment later: while
 * the control has the focus, what was typed stands; else the value does.
 */
export function useDraft(value: string, onChange: (typed: string) => void) {
  const [draft, setDraft] = useState<string>();
  return {
    value: draft ?? value,
    onFocus: () => setDraft(value),
    onBlur: () => setDraft(undefined),
    onChange: (event: { readonly target: { readonly value: string } }) => {
      setDraft(event.target.value);
      onChange(event.target.value);
    },
  };
}
