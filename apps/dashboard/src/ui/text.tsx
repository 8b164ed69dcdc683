import clsx from 'clsx';
import { Fragment, type ReactNode } from 'react';
import {
  formatExactUsd,
  formatInstant,
  formatRelative,
  formatUsd,
  formatUsdIn,
  formatUtcInstant,
  formatUtcMinute,
  type UsdDigits,
} from '../format/format.ts';

/** A moment in words ("3 hours ago"), with date and time on hover. */
export function Instant({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatInstant(at)} className="whitespace-nowrap">
      {formatRelative(at, Date.now())}
    </time>
  );
}

/** A minute in UTC, with the reader's own time on hover. `hasYear`: not only those of a year are listed. */
export const UtcMinute = ({ at, hasYear = true }: { at: string; hasYear?: boolean }) => (
  <time dateTime={at} title={`${formatInstant(at)} in your time zone`} className="md:whitespace-nowrap">
    {hasYear ? formatUtcInstant(at) : formatUtcMinute(at)}
  </time>
);

/** Shows the name that a user or an operator chose on one line. A longer name is cut off and shown whole on hover. */
export function Truncated({ text, className = '' }: { text: string; className?: string | undefined }) {
  // Of two such classes, the order in the style sheet would decide.
  const width = className.includes('md:max-w-') ? '' : 'md:max-w-72';
  return (
    <span title={text} className={clsx('inline-block max-w-full truncate align-bottom', width, className)}>
      {text}
    </span>
  );
}

/** A sentence of the service, with text between backticks as code. */
export function Sentence({ text }: { text: string }) {
  const parts = text.split('`');
  return parts.map((part, index) => {
    const key = `${String(index)} ${part}`;
    // A backtick without a closing one is an ordinary character.
    if (index % 2 === 1 && index === parts.length - 1) return <Fragment key={key}>{`\`${part}`}</Fragment>;
    return index % 2 === 1 ? (
      <code key={key} className="rounded bg-raised px-1 font-mono text-[0.9em] break-words">
        {part}
      </code>
    ) : (
      <Fragment key={key}>{part}</Fragment>
    );
  });
}

/** A list of names and values in columns. */
export function Facts({ facts }: { facts: readonly { readonly name: string; readonly value: ReactNode }[] }) {
  return (
    <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-2 lg:grid-cols-4">
      {facts.map(({ name, value }) => (
        <div key={name} className="min-w-0">
          <dt className="text-sm text-muted">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A bar beside a text that states the number. `share` is 0 or more; above 1 the bar is full. */
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

/** An amount in USD as people read it; in a column, with the digits of all others. The exact amount shows on hover. */
export function Usd({ usd, digits }: { usd: number; digits?: UsdDigits }) {
  const shown = digits === undefined ? formatUsd(usd) : formatUsdIn(digits, usd);
  const exact = formatExactUsd(usd);
  return <span title={shown === exact ? undefined : exact}>{shown}</span>;
}

/** A measured figure in words. Null or undefined: there were too few requests. */
export function measuredText<Value>(figure: Value | null | undefined, format: (figure: Value) => string): ReactNode {
  if (figure === null || figure === undefined) return <span className="text-muted">too few</span>;
  return format(figure);
}
