import clsx from 'clsx';
import { browserMinimum, meets, type Verdict, verdictOrder, verdictWords } from '../../verification/verdicts.ts';

/** All verdicts, strongest first, with the one that was reached. */
export function VerdictLadder({ verdict }: { verdict: Verdict }) {
  return (
    <ol aria-label="Verdicts, strongest first" className="space-y-1">
      {verdictOrder.toReversed().map((one) => (
        <li
          key={one}
          aria-current={one === verdict ? 'true' : undefined}
          className={clsx(
            'rounded-lg border-l-4 px-3 py-1.5',
            one === verdict ? 'border-accent bg-raised' : 'border-line',
          )}
        >
          <p className="flex flex-wrap items-baseline justify-between gap-x-3">
            <span className={clsx(one === verdict && 'font-medium')}>{verdictWords[one].name}</span>
            <span className="text-sm text-muted">
              {one === verdict
                ? 'reached here'
                : !meets(browserMinimum, one)
                  ? 'not in a browser'
                  : one === browserMinimum
                    ? 'content is sent from here on'
                    : ''}
            </span>
          </p>
          <p className="text-sm text-muted">{verdictWords[one].meaning}</p>
        </li>
      ))}
    </ol>
  );
}
