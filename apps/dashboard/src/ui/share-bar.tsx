import clsx from 'clsx';

/** How much of something is used up, beside a text that says it in numbers. `share` from 0; more than 1 is full. */
export function ShareBar({ share, tone }: { share: number; tone: 'accent' | 'warn' | 'danger' }) {
  return (
    <span aria-hidden className="block h-1.5 w-full overflow-hidden rounded-full bg-raised">
      <span
        className={clsx('block h-full rounded-full', {
          'bg-accent': tone === 'accent',
          'bg-warn': tone === 'warn',
          'bg-danger': tone === 'danger',
        })}
        style={{ width: `${Math.min(share, 1) * 100}%` }}
      />
    </span>
  );
}
