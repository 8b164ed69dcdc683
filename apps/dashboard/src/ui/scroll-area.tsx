import type { ReactNode } from 'react';

/** What may be wider than its place: it scrolls by itself, and can be reached by keyboard to do so. */
export function ScrollArea({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section tabIndex={0} aria-label={label} className="overflow-x-auto">
      {children}
    </section>
  );
}
