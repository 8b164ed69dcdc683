import { useSignedIn } from '../../session/session.ts';
import { Skeleton } from '../../ui/skeleton.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Welcome } from './welcome.tsx';

/** `/`: what this is, or, for whoever is signed in, the first steps. */
export function HomePage() {
  const user = useSignedIn();
  if (user === undefined) {
    return (
      <div role="status" aria-label="The page is loading" className="space-y-4 px-4 py-6 sm:px-6 lg:px-8">
        <Skeleton className="h-8 w-56" />
        <Skeleton className="h-40 w-full" />
      </div>
    );
  }
  return user === null ? <Welcome /> : <FirstSteps />;
}
