import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import clsx from 'clsx';
import { Fragment } from 'react';
import { confidentialOrigin, controlOrigin } from '../../api/origins.ts';
import { linkClass } from '../../ui/button.tsx';
import { SearchInAddress } from '../../ui/draft-fields.tsx';
import { LinkCard } from '../../ui/link-card.tsx';
import { Card, EmptyState, ErrorLine, Loaded, Page } from '../../ui/surface.tsx';
import { type Described, findOperations } from './described.ts';
import { describedQuery } from './described-query.ts';
import { OperationView } from './operation-view.tsx';

const titles: Readonly<Record<Described['origin'], string>> = {
  broker: 'Confidential broker: sees content, never who asks',
  control: 'Control plane: sees who asks, never content',
};

const listId = 'all-operations';

/** Every operation of both origins, as they describe themselves: a list with search, and one operation beside it. */
export function ReferencePage() {
  const broker = useQuery(describedQuery('broker'));
  const control = useQuery(describedQuery('control'));
  const params = useParams({ strict: false });
  const { q = '' } = useSearch({ strict: false });
  const all = [...(broker.data ?? []), ...(control.data ?? [])];
  const shown = all.find(
    ({ origin, operation }) => origin === params.origin && operation.operationId === params.operation,
  );
  const isChosen = params.operation !== undefined;
  const found = findOperations(all, q);
  const waiting = {
    data: broker.isPending || control.isPending ? undefined : all,
    error: null,
    refetch: control.refetch,
  };
  return (
    <Page
      title={shown?.operation.summary ?? 'API reference'}
      lead={
        isChosen ? (
          <Link to="/reference" className={clsx(linkClass, 'lg:hidden')}>
            All operations
          </Link>
        ) : (
          <>
            Two origins: one knows who asks, the other what is asked. Each describes itself, so this page fits the
            version that runs here.{' '}
            <a href={`#${listId}`} className={clsx(linkClass, 'lg:hidden')}>
              All operations
            </a>
          </>
        )
      }
    >
      <ErrorLine error={broker.error} />
      <ErrorLine error={control.error} />
      <div className="grid items-start gap-6 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <nav
          id={listId}
          aria-label="Operations"
          className={clsx(
            'space-y-4 lg:sticky lg:top-18 lg:max-h-[calc(100dvh-6rem)] lg:overflow-y-auto lg:-m-1 lg:p-1',
            isChosen ? 'hidden lg:block' : q === '' && 'max-lg:order-last',
          )}
        >
          <SearchInAddress label="Search operations" placeholder="A path, a field, an error…" />
          <Loaded query={waiting} label="The reference is loading" lines={10}>
            {() =>
              found.length === 0 ? (
                <p role="status" className="text-sm text-muted">
                  No operation has these words.
                </p>
              ) : (
                <OperationList found={found} />
              )
            }
          </Loaded>
        </nav>
        <div className="min-w-0">
          {shown !== undefined ? (
            <OperationView key={`${shown.origin} ${shown.operation.operationId}`} described={shown} />
          ) : (
            waiting.data !== undefined &&
            (isChosen ? (
              <EmptyState
                title="No such operation"
                text="This version of the service does not have it. Search for it, or choose one from the list."
              />
            ) : (
              <Introduction all={all} />
            ))
          )}
        </div>
      </div>
    </Page>
  );
}

/** The found operations, under their origin and noun. */
function OperationList({ found }: { found: readonly Described[] }) {
  return (['broker', 'control'] as const).map((origin) => {
    const own = found.filter((each) => each.origin === origin);
    const tags = [...new Set(own.map(({ tag }) => tag))];
    if (own.length === 0) return null;
    return (
      <section key={origin}>
        <h2 className="text-sm font-semibold">{titles[origin]}</h2>
        {tags.map((tag) => (
          <Fragment key={tag}>
            <h3 className="mt-3 mb-0.5 text-xs font-medium text-muted">{tag}</h3>
            <ul>
              {own
                .filter((each) => each.tag === tag)
                .map(({ operation: { operationId, summary } }) => (
                  <li key={operationId}>
                    <Link
                      to="/reference/$origin/$operation"
                      params={{ origin, operation: operationId }}
                      className="block rounded-lg px-2 py-1 text-sm text-muted hover:bg-raised hover:text-text"
                      activeProps={{
                        className: 'bg-accent-soft text-accent-strong! font-medium',
                        'aria-current': 'page',
                      }}
                    >
                      {summary}
                    </Link>
                  </li>
                ))}
            </ul>
          </Fragment>
        ))}
      </section>
    );
  });
}

/** The operations that a first program needs, in their order. */
const firstOperations = [
  ['broker', 'createChatCompletion', 'Send a chat', 'With a key, or with a ticket that names nobody.'],
  ['control', 'createTicket', 'Get a ticket', 'The private flow: the key goes here, the content does not.'],
  ['control', 'listCatalog', 'List models', 'With prices, privacy tiers and limits.'],
  ['control', 'getBalance', 'Read the balance', 'What can be spent now.'],
  ['control', 'listUsage', 'Read usage', 'Each request with its cost, without its content.'],
] as const;

function Introduction({ all }: { all: readonly Described[] }) {
  const known = firstOperations.filter(([origin, id]) =>
    all.some((each) => each.origin === origin && each.operation.operationId === id),
  );
  return (
    <div className="space-y-6">
      <Card title="Begin here" lead="Each page has the request in three languages, and runs it from this browser.">
        <ol className="grid gap-3 sm:grid-cols-2">
          {known.map(([origin, operation, title, text]) => (
            <LinkCard
              key={operation}
              to="/reference/$origin/$operation"
              params={{ origin, operation }}
              title={title}
              text={text}
            />
          ))}
        </ol>
      </Card>
      <Addresses />
    </div>
  );
}

function Addresses() {
  return (
    <Card title="Before the first request">
      <div className="max-w-prose space-y-3">
        <p>
          Ask for completions at the broker,{' '}
          <code className="font-mono text-sm break-all">{confidentialOrigin}/v1</code>, with an inference key, or with a
          ticket that names nobody. Accounts, keys and money are at the control plane,{' '}
          <code className="font-mono text-sm break-all">{controlOrigin}/v1</code>.
        </p>
        <p>
          Every error has the same shape, and its <code className="font-mono text-sm">message</code> says what was wrong
          and what would be right. Search for an error such as “rate_limited” to see which operations answer with it.
        </p>
        <p>
          For programs, both planes publish OpenAPI 3.1:{' '}
          <a href={`${controlOrigin}/v1/openapi.json`} className={linkClass}>
            control
          </a>{' '}
          and{' '}
          <a href={`${confidentialOrigin}/v1/openapi.json`} className={linkClass}>
            broker
          </a>
          .
        </p>
      </div>
    </Card>
  );
}
