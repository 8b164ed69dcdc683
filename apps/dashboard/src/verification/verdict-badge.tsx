import { ShieldAlert, ShieldCheck, ShieldQuestion } from 'lucide-react';
import { Badge } from '../ui/badge.tsx';
import { browserMinimum, meets, type Verdict, verdictWords } from './verdicts.ts';

const size = 'size-3.5';

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  const { name, meaning, tone } = verdictWords[verdict];
  const icon =
    verdict === 'unavailable' ? (
      <ShieldQuestion aria-hidden className={size} />
    ) : meets(verdict, browserMinimum) ? (
      <ShieldCheck aria-hidden className={size} />
    ) : (
      <ShieldAlert aria-hidden className={size} />
    );
  return (
    <span title={meaning}>
      <Badge tone={tone} icon={icon}>
        {name}
      </Badge>
    </span>
  );
}
