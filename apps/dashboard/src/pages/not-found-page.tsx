import { Link } from '@tanstack/react-router';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState, Page } from '../ui/surface.tsx';

export function NotFoundPage() {
  return (
    <Page title="No such page">
      <EmptyState
        title="Page not found"
        text="The page may have moved, or the address may be incomplete."
        action={
          <Link to="/" className={buttonClass('primary')}>
            Go to the home page
          </Link>
        }
      />
    </Page>
  );
}
