import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';

/** What is typed into a search of the documentation. The address keeps it, so that a search can be linked. */
export function useTyped(): [typed: string, type: (text: string) => void] {
  const { q = '' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  return [
    typed,
    (text) => {
      setTyped(text);
      void navigate({ to: '.', search: text === '' ? {} : { q: text }, replace: true, resetScroll: false });
    },
  ];
}
