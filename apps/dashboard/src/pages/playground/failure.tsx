import { Link } from '@tanstack/react-router';
import { CircleAlert } from 'lucide-react';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { Sentence } from '../../ui/sentence.tsx';
import { adviseOn } from './advice.ts';

/** A request that failed: what was said, what to do, what to name when asking for help. */
export function Failure({ error }: { error: unknown }) {
  const advice = adviseOn(error);
  return (
    <div role="alert" className="flex gap-3 rounded-xl border border-danger bg-danger-soft p-3">
      <CircleAlert aria-hidden className="mt-0.5 size-5 shrink-0 text-danger" />
      <div className="min-w-0">
        <p className="break-words">
          <Sentence text={sentenceOf(error)} />
        </p>
        {advice !== undefined && (
          <p>
            {advice.text}{' '}
            {advice.to !== undefined && (
              <Link to={advice.to} className="text-accent underline underline-offset-2">
                {advice.linkText}
              </Link>
            )}
          </p>
        )}
        {error instanceof ApiError && (
          <p className="text-sm break-all text-muted">
            <code className="font-mono">{error.type}</code>
            {error.requestId !== undefined && ` · request ${error.requestId}`}
          </p>
        )}
      </div>
    </div>
  );
}
