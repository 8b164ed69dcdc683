import { Link, useParams, useSearch } from '@tanstack/react-router';
import clsx from 'clsx';
import { linkClass } from '../../ui/button.tsx';
import { SearchInAddress } from '../../ui/draft-fields.tsx';
import { EmptyState, Page } from '../../ui/surface.tsx';
import { findGuides, grouped, guideAt } from './guides.ts';
import { Markdown } from './markdown.tsx';

/** The documentation of the version that runs here: a list with search, and one page beside it. */
export function GuidesPage() {
  const { _splat: path = '' } = useParams({ strict: false });
  const { q = '' } = useSearch({ strict: false });
  const guide = guideAt(path);
  const isChosen = path !== '';
  const found = findGuides(q);
  return (
    <Page
      title={isChosen ? (guide?.title ?? 'No such guide') : 'Guides'}
      lead={
        isChosen && (
          <Link to="/guides" className={clsx(linkClass, 'lg:hidden')}>
            All guides
          </Link>
        )
      }
    >
      <div className="grid items-start gap-6 lg:grid-cols-[18rem_minmax(0,1fr)]">
        <nav
          aria-label="Guides"
          className={clsx(
            'space-y-3 lg:sticky lg:top-18 lg:max-h-[calc(100dvh-6rem)] lg:overflow-y-auto lg:-m-1 lg:p-1',
            isChosen && 'hidden lg:block',
          )}
        >
          <SearchInAddress label="Search guides" placeholder="A word, a setting, a tool…" />
          {found.length === 0 && (
            <p role="status" className="text-sm text-muted">
              No guide has these words.
            </p>
          )}
          {grouped(found).map(({ title, pages }) => (
            <section key={title}>
              <h2 className="mb-0.5 text-xs font-medium text-muted">{title}</h2>
              <ul>
                {pages.map((each) => (
                  <li key={each.path}>
                    <Link
                      to="/guides/$"
                      params={{ _splat: each.path }}
                      className="block rounded-lg px-2 py-1 text-sm text-muted hover:bg-raised hover:text-text"
                      activeProps={{
                        className: 'bg-accent-soft text-accent-strong! font-medium',
                        'aria-current': 'page',
                      }}
                    >
                      {each.title}
                    </Link>
                  </li>
                ))}
              </ul>
            </section>
          ))}
        </nav>
        <article className={clsx('min-w-0 max-w-4xl', !isChosen && 'hidden lg:block')}>
          {guide === undefined ? (
            <EmptyState
              title="No such guide"
              text="This version of the documentation does not have it. Search for it, or choose one from the list."
            />
          ) : (
            <Markdown key={guide.path} guide={guide} />
          )}
        </article>
      </div>
    </Page>
  );
}
