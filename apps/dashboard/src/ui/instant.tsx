import { formatInstant, formatRelative } from '../format/time.ts';

/** A moment in words ("3 hours ago"); in full on hover and to readers of the markup. */
export function Instant({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatInstant(at)} className="whitespace-nowrap">
      {formatRelative(at, Date.now())}
    </time>
  );
}
