import clsx from 'clsx';

/** The place of something that is on its way, of its size, so that nothing jumps. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden className={clsx('block animate-pulse rounded-md bg-raised', className ?? 'h-4 w-32')} />;
}

/** A card's worth of lines on their way; says so to readers. */
export function Loading({ label, lines = 4 }: { label: string; lines?: number }) {
  return (
    <div role="status" aria-label={label} className="space-y-3 rounded-2xl border border-line bg-surface p-5">
      <span className="sr-only">{label}</span>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={`line ${String(line)}`} className={clsx('h-4', line % 3 === 2 ? 'w-1/2' : 'w-full')} />
      ))}
    </div>
  );
}
