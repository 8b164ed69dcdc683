import { useRef } from 'react';
import { type OpenWay, openWay, type WayOptions } from './open-way.ts';

/** Opens a way when it is first needed, and keeps it, with what it verified, while its terms are the same. */
export function useWay(options: WayOptions | undefined): () => Promise<OpenWay> {
  const opened = useRef<{ readonly terms: string; readonly way: Promise<OpenWay> }>(undefined);
  return () => {
    if (options === undefined) throw new Error('a way needs a key');
    const terms = JSON.stringify(options);
    if (opened.current?.terms !== terms) opened.current = { terms, way: openWay(options) };
    return opened.current.way;
  };
}
