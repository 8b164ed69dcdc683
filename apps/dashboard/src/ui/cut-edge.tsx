import { type RefObject, useEffect, useState } from 'react';

/** Whether something that scrolls sideways has more at its right. */
export function useIsCut(scroller: RefObject<HTMLElement | null>): boolean {
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const place = scroller.current;
    if (place === null) return;
    const look = (): void => setCut(place.scrollWidth - place.clientWidth - place.scrollLeft > 1);
    const observer = new ResizeObserver(look);
    // A table may grow beyond the box that holds it, which keeps its size.
    for (const each of [place, ...place.querySelectorAll(':scope > *, :scope > * > *')]) observer.observe(each);
    place.addEventListener('scroll', look, { passive: true });
    return () => {
      observer.disconnect();
      place.removeEventListener('scroll', look);
    };
  }, [scroller]);
  return isCut;
}

/** A shade at the right edge of its place, which says that there is more. */
export const CutEdge = () => (
  <span
    aria-hidden
    data-testid="cut-edge"
    className="pointer-events-none absolute inset-y-px right-px z-20 w-8 rounded-r-2xl bg-linear-to-l from-line-strong to-transparent opacity-40"
  />
);
