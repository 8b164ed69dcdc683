import type { UseQueryResult } from '@tanstack/react-query';
import clsx from 'clsx';
import { CircleAlert, Inbox } from 'lucide-react';
import { type ReactNode, useRef } from 'react';
import { ApiError, sentenceOf } from '../api/errors.ts';
import { Button } from './button.tsx';
import { CutEdge, useIsCut } from './cut-edge.tsx';
import { Sentence } from './text.tsx';

interface PageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  /** Buttons beside the title, or under it on narrow screens. */
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
        <div className="flex flex-wrap items-start justify-between gap-3 not-last:mb-4">
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

export interface EmptyStateProps {
  readonly title: string;
  readonly text: ReactNode;
  readonly action?: ReactNode;
}

/** Replaces an empty list: says what it would hold, and how to get the first entry. */
export function EmptyState({ title, text, action }: EmptyStateProps) {
  return (
    <div className="flex flex-col items-center gap-2 rounded-2xl border border-dashed border-line-strong px-6 py-12 text-center">
      <Inbox aria-hidden className="size-7 text-muted" />
      <p className="font-medium">{title}</p>
      <div className="max-w-prose text-sm text-muted">{text}</div>
      {action !== undefined && <div className="mt-2">{action}</div>}
    </div>
  );
}

interface ErrorStateProps {
  readonly error: unknown;
  readonly onRetry?: () => void;
  /** Another way out, beside the button to try again. */
  readonly children?: ReactNode;
}

/** Says why something could not be loaded, with a button to try again. */
export function ErrorState({ error, onRetry, children }: ErrorStateProps) {
  return (
    <div role="alert" className="flex flex-wrap items-center gap-3 rounded-2xl border border-danger bg-danger-soft p-4">
      <CircleAlert aria-hidden className="size-5 shrink-0 text-danger" />
      <div className="min-w-0 flex-1 basis-60">
        <p>
          <Sentence text={sentenceOf(error)} />
        </p>
        {error instanceof ApiError && error.requestId !== undefined && (
          <p className="text-sm break-all text-muted">Request {error.requestId}</p>
        )}
      </div>
      {onRetry !== undefined && <Button onClick={onRetry}>Try again</Button>}
      {children}
    </div>
  );
}

interface ErrorLineProps {
  readonly error: unknown;
  readonly className?: string;
}

/** One line that says why a change failed; nothing without an error. */
export function ErrorLine({ error, className }: ErrorLineProps) {
  if (error === null || error === undefined) return null;
  return (
    <p role="alert" className={clsx('text-danger', className)}>
      {sentenceOf(error)}
    </p>
  );
}

type NoticeTone = 'info' | 'warn' | 'danger' | 'good';

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

/** Stands for content that is loading, in its size, so that the layout does not jump. */
export function Skeleton({ className }: { className: string }) {
  return <span aria-hidden className={clsx('block animate-pulse rounded-md bg-raised', className)} />;
}

export interface LoadingProps {
  /** Read out meanwhile, such as "Keys are loading". */
  readonly label: string;
  readonly lines?: number;
}

/** Stands for a card that is loading, and says so to screen readers. */
export function Loading({ label, lines = 4 }: LoadingProps) {
  return (
    <div role="status" aria-label={label} className="space-y-3 rounded-2xl border border-line bg-surface p-5">
      <span className="sr-only">{label}</span>
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={`line ${String(line)}`} className={clsx('h-4', line % 3 === 2 ? 'w-1/2' : 'w-full')} />
      ))}
    </div>
  );
}

/** Stands for a table that is loading, and says so to screen readers. */
export function TableLoading({ label, columns, rows = 6 }: { label: string; columns: number; rows?: number }) {
  return (
    <div role="status" aria-label={label}>
      <span className="sr-only">{label}</span>
      {Array.from({ length: rows + 1 }, (_, row) => (
        <div key={`row ${String(row)}`} className="flex h-9.5 items-center gap-6 border-b border-line last:border-b-0">
          {Array.from({ length: Math.min(columns, 6) }, (_, column) => (
            <Skeleton
              key={`column ${String(column)}`}
              className={clsx('h-3', column === 0 ? 'flex-2' : 'flex-1', column > 1 && 'max-md:hidden')}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

/** Scrolls content that may be wider than its place; it takes the focus, so that keys can scroll it. */
export function ScrollArea({ label, children }: { label: string; children: ReactNode }) {
  const scroller = useRef<HTMLElement>(null);
  const isCut = useIsCut(scroller);
  return (
    <div className="relative">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section ref={scroller} tabIndex={0} aria-label={label} className="overflow-x-auto">
        {children}
      </section>
      {isCut && <CutEdge />}
    </div>
  );
}

/** Stands for a page that is loading. */
export function PagePending() {
  return (
    <div
      role="status"
      aria-label="The page is loading"
      className="mx-auto w-full max-w-screen-2xl space-y-6 px-4 py-6 sm:px-6 lg:px-8"
    >
      <div className="space-y-2">
        <Skeleton className="h-8 w-56" />
        <Skeleton className="h-5 w-full max-w-xl" />
      </div>
      <Skeleton className="h-64 w-full rounded-2xl" />
    </div>
  );
}

export interface LoadedProps<Data> extends LoadingProps {
  readonly query: Pick<UseQueryResult<Data>, 'data' | 'error'> & { readonly refetch: () => unknown };
  readonly children: (data: Data) => ReactNode;
}

/** Shows the data of a query; until then a placeholder, or the error with a button to try again. */
export function Loaded<Data>({ query: { data, error, refetch }, children, ...loading }: LoadedProps<Data>) {
  if (data !== undefined) return children(data);
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <Loading {...loading} />;
}
