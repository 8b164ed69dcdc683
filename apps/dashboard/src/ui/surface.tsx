import clsx from 'clsx';
import { CircleAlert, Inbox } from 'lucide-react';
import type { ReactNode } from 'react';
import { ApiError, sentenceOf } from '../api/call.ts';
import { Button } from './button.tsx';

export interface PageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  /** What can be begun from here; beside the title, or under it where there is no room. */
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** A page of the dashboard; its title is the one `h1`, and the document's title. */
export function Page({ title, lead, actions, children }: PageProps) {
  return (
    <div className="mx-auto w-full max-w-screen-2xl space-y-6 px-4 py-6 sm:px-6 lg:px-8">
      <title>{`${title} · Sotto`}</title>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0 max-w-3xl">
          <h1 className="text-2xl font-semibold tracking-tight text-balance">{title}</h1>
          {lead !== undefined && <p className="mt-1 text-muted">{lead}</p>}
        </div>
        {actions !== undefined && <div className="flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

export interface CardProps {
  readonly title?: ReactNode;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly className?: string;
  readonly children?: ReactNode;
}

/** One subject of a page. */
export function Card({ title, lead, actions, className, children }: CardProps) {
  return (
    <section className={clsx('min-w-0 rounded-2xl border border-line bg-surface p-4 sm:p-5', className)}>
      {(title !== undefined || actions !== undefined) && (
        <div className="mb-4 flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0">
            {title !== undefined && <h2 className="text-base font-semibold">{title}</h2>}
            {lead !== undefined && <p className="text-sm text-muted">{lead}</p>}
          </div>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

/** Nothing is there yet: what would be, and how to get the first. */
export function EmptyState({ title, text, action }: { title: string; text: ReactNode; action?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-12 text-center">
      <Inbox aria-hidden className="size-7 text-muted" />
      <p className="font-medium">{title}</p>
      <div className="max-w-prose text-sm text-muted">{text}</div>
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  );
}

/** What was asked for did not come: why, and a way to ask again. */
export function ErrorState({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-2xl border border-danger bg-danger-soft p-4">
      <CircleAlert aria-hidden className="size-5 shrink-0 text-danger" />
      <div className="min-w-0 flex-1 basis-60">
        <p>{sentenceOf(error)}</p>
        {error instanceof ApiError && error.requestId !== undefined && (
          <p className="text-sm break-all text-muted">Request {error.requestId}</p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

export type NoticeTone = 'info' | 'warn' | 'danger' | 'good';

const notices: Record<NoticeTone, string> = {
  info: 'border-info bg-info-soft',
  warn: 'border-warn bg-warn-soft',
  danger: 'border-danger bg-danger-soft',
  good: 'border-good bg-good-soft',
};

/** A sentence that should not be missed. */
export function Notice({ tone = 'info', children }: { tone?: NoticeTone; children: ReactNode }) {
  return (
    <div role="status" className={clsx('rounded-xl border px-4 py-3', notices[tone])}>
      {children}
    </div>
  );
}
