import { Link } from '@tanstack/react-router';
import { buttonClass } from '../ui/button.tsx';
import { EmptyState, Page } from '../ui/surface.tsx';

export function NotFoundPage() {
  return (
    <Page title="No such page">
      <EmptyState
        title="There is nothing at this address"
        text="The page may have moved, or the address may have lost a letter on its way."
        action={
          <Link to="/" className={buttonClass('primary')}>
            To the first page
          </Link>
        }
      />
    </Page>
  );
}
