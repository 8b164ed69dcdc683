import { Link, useParams, useSearch } from '@tanstack/react-router';
import clsx from 'clsx';
import { useMemo } from 'react';
import { linkClass } from '../../ui/button.tsx';
import { SearchInAddress } from '../../ui/draft-fields.tsx';
import { EmptyState, Page } from '../../ui/surface.tsx';
import { forDeployment } from './for-deployment.ts';
import { findGuides, type Guide, type GuideGroup, grouped, guideAt, sectionsOf } from './guides.ts';
import { Markdown } from './markdown.tsx';
import { StartHere } from './start-here.tsx';
import { useDeployment } from './use-deployment.ts';

/** The documentation of the version that runs here, for the people of this deployment: a list with search, and one page beside it. */
export function GuidesPage() {
  const { _splat: path = '' } = useParams({ strict: false });
  const guide = guideAt(path);
  const isChosen = path !== '';
  return (
    <Page
      title={isChosen ? (guide?.title ?? 'No such guide') : 'Guides'}
      lead={
        isChosen ? (
          <Link to="/guides" className={clsx(linkClass, 'lg:hidden')}>
            All guides
          </Link>
        ) : (
          <>
            For the people who use this deployment. Commands have its addresses.{' '}
            <a href={`#${listId}`} className={clsx(linkClass, 'lg:hidden')}>
              All guides
            </a>
          </>
        )
      }
    >
      <div className="grid items-start gap-6 lg:grid-cols-[16rem_minmax(0,1fr)] xl:gap-8">
        <GuideList isChosen={isChosen} />
        {!isChosen ? (
          <StartHere />
        ) : guide === undefined ? (
          <EmptyState
            title="No such guide"
            text="This version of the documentation does not have it. Search for it, or choose one from the list."
          />
        ) : (
          <Article key={guide.path} guide={guide} />
        )}
      </div>
    </Page>
  );
}

const listId = 'all-guides';

/** All guides, or those that a search finds. On narrow screens it stands below the first page until someone searches. */
function GuideList({ isChosen }: { isChosen: boolean }) {
  const { q = '' } = useSearch({ strict: false });
  const found = findGuides(q);
  const placeOf = ({ pages }: GuideGroup): number => Math.min(...pages.map((page) => found.indexOf(page)));
  const all = grouped(found);
  // The group with the best guide comes first.
  const groups = q === '' ? all : all.toSorted((left, right) => placeOf(left) - placeOf(right));
  const ofUsers = groups.filter(({ isOfUsers }) => isOfUsers);
  const others = groups.filter(({ isOfUsers }) => !isOfUsers);
  return (
    <nav
      id={listId}
      aria-label="Guides"
      className={clsx(
        'space-y-3 lg:sticky lg:top-18 lg:max-h-[calc(100dvh-6rem)] lg:overflow-y-auto lg:-m-1 lg:p-1',
        isChosen ? 'hidden lg:block' : q === '' && 'max-lg:order-last',
      )}
    >
      <SearchInAddress label="Search guides" placeholder="A word, a setting, a tool…" />
      {groups.length === 0 && (
        <p role="status" className="text-sm text-muted">
          No guide has these words.
        </p>
      )}
      <ul>
        <li>
          <Link to="/guides" activeOptions={{ exact: true }} className={entry} activeProps={activeEntry}>
            Start here
          </Link>
        </li>
      </ul>
      {ofUsers.map((group) => (
        <Group key={group.title} group={group} />
      ))}
      {others.length > 0 && (
        <details open={q !== '' || ofUsers.length === 0}>
          <summary className="min-h-8 cursor-pointer text-sm font-medium">For operators and developers</summary>
          <div className="mt-2 space-y-3">
            {others.map((group) => (
              <Group key={group.title} group={group} />
            ))}
          </div>
        </details>
      )}
    </nav>
  );
}

const entry = 'block rounded-lg px-2 py-1 text-sm text-muted hover:bg-raised hover:text-text';
const activeEntry = {
  className: 'bg-accent-soft text-accent-strong! font-medium',
  'aria-current': 'page',
} as const;

function Group({ group: { title, pages } }: { group: GuideGroup }) {
  return (
    <section>
      <h2 className="mb-0.5 text-xs font-medium text-muted">{title}</h2>
      <ul>
        {pages.map((each) => (
          <li key={each.path}>
            <Link to="/guides/$" params={{ _splat: each.path }} className={entry} activeProps={activeEntry}>
              {each.title}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** A guide with the values of this deployment, and the contents of the page beside or above it. */
function Article({ guide }: { guide: Guide }) {
  const deployment = useDeployment();
  const filled = useMemo(() => ({ ...guide, text: forDeployment(guide.text, deployment) }), [guide, deployment]);
  const sections = useMemo(() => sectionsOf(guide.text), [guide]);
  const contents = (
    <ul className="space-y-1 text-sm">
      {sections.map(({ id, title }) => (
        <li key={id}>
          <a href={`#${id}`} className="block py-0.5 text-muted hover:text-text">
            {title}
          </a>
        </li>
      ))}
    </ul>
  );
  return (
    <div className={clsx('grid items-start gap-8', sections.length > 1 && 'xl:grid-cols-[minmax(0,1fr)_13rem]')}>
      {sections.length > 1 && (
        <div className="xl:sticky xl:top-18 xl:order-last xl:max-h-[calc(100dvh-6rem)] xl:overflow-y-auto">
          <details className="rounded-xl border border-line px-3 py-2 xl:hidden">
            <summary className="min-h-6 cursor-pointer text-sm font-medium">On this page</summary>
            <div className="mt-2">{contents}</div>
          </details>
          <nav aria-label="On this page" className="hidden xl:block">
            <h2 className="mb-2 text-xs font-medium text-muted">On this page</h2>
            {contents}
          </nav>
        </div>
      )}
      <article className="min-w-0 max-w-4xl">
        <Markdown guide={filled} />
      </article>
    </div>
  );
}
