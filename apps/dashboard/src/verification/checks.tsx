import type { EnclaveVerification, OriginVerification } from '@sotto/client';
import { CircleCheck, CircleMinus, CircleX } from 'lucide-react';
import { checkWords } from './check-words.ts';

type Check = OriginVerification['checks'][number] | EnclaveVerification['checks'][number];

const size = 'mt-0.5 size-5 shrink-0';

const outcomes = {
  passed: { word: 'Passed', icon: <CircleCheck aria-hidden className={`${size} text-good`} /> },
  failed: { word: 'Failed', icon: <CircleX aria-hidden className={`${size} text-danger`} /> },
  not_made: { word: 'Not made', icon: <CircleMinus aria-hidden className={`${size} text-muted`} /> },
} as const;

/** Checks by how they ended, what matters most first. */
export function CheckGroups({ checks }: { checks: readonly Check[] }) {
  const { failed, passed, notMade } = byOutcome(checks);
  const groups = [
    { title: 'Failed', checks: failed },
    { title: 'Passed', checks: passed },
    { title: 'Not made', checks: notMade },
  ];
  return (
    <div className="space-y-6">
      {groups
        .filter(({ checks: { length } }) => length > 0)
        .map(({ title, checks: ended }) => (
          <section key={title}>
            <h3 className="text-sm font-medium">{`${title} (${String(ended.length)})`}</h3>
            <Checks label={title} checks={ended} />
          </section>
        ))}
    </div>
  );
}

/** Each check with what it asks, how it ended, and why where it did not pass. */
function Checks({ checks, label }: { checks: readonly Check[]; label: string }) {
  return (
    <ul aria-label={label} className="divide-y divide-line">
      {checks.map((check) => {
        const { word, icon } = outcomes[check.outcome];
        return (
          <li key={check.name} className="flex gap-3 py-2.5">
            {icon}
            <div className="min-w-0 flex-1">
              <p>
                {checkWords[check.name]}
                <span className="sr-only">: {word}</span>
              </p>
              <p className="font-mono text-[0.8125rem] break-all text-muted">{check.name}</p>
              {check.outcome !== 'passed' && <p className="text-sm break-words">{reasonOf(check.reason)}</p>}
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** Checks as they matter: what failed, what was not made, what passed. */
export const byOutcome = <One extends Check>(checks: readonly One[]) => ({
  failed: checks.filter(({ outcome }) => outcome === 'failed'),
  notMade: checks.filter(({ outcome }) => outcome === 'not_made'),
  passed: checks.filter(({ outcome }) => outcome === 'passed'),
});

/** A reason begins in the middle of a sentence: it follows the name of its check elsewhere. */
const reasonOf = (reason: string): string =>
  `${reason.charAt(0).toUpperCase()}${reason.slice(1)}${/[.!?]$/.test(reason) ? '' : '.'}`;
