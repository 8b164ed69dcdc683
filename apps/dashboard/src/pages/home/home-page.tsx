import { Link } from '@tanstack/react-router';
import { EyeOff, Route, ShieldCheck } from 'lucide-react';
import { Suspense } from 'react';
import { useSignedIn } from '../../session/session.ts';
import { buttonClass, linkClass } from '../../ui/button.tsx';
import { lazyPage, useSettled } from '../../ui/lazy-page.ts';
import { Card, Loading, Page, PagePending } from '../../ui/surface.tsx';
import { OneProcessNotice } from '../../verification/one-process.tsx';

const Home = lazyPage(() => import('./overview.tsx'), 'Home');
const ThreeModes = lazyPage(() => import('../../verification/privacy-path.tsx'), 'ThreeModes');

/** Loads the script of the overview and of its plot. A script that is missing is asked for again by the page. */
export const preloadHome = (): void => void Promise.allSettled([Home.preload?.(), import('../../ui/plot-drawing.tsx')]);

/** `/`: an introduction for visitors. For signed-in users the first steps and, once they sent a request, the overview. */
export function HomePage() {
  const user = useSignedIn();
  const isSettled = useSettled(Home, Boolean(user));
  if (user === null) return <Welcome />;
  return (
    <Suspense fallback={<PagePending />}>
      {/* Another user does not see the key that the previous one created. */}
      {user === undefined || !isSettled ? <PagePending /> : <Home key={user.id} />}
    </Suspense>
  );
}

const promises = [
  {
    icon: EyeOff,
    title: 'Your identity stays separate from your prompts',
    text: 'One process has accounts, keys and money, and never sees content. Another passes content on, and never learns whose it is. A single-use ticket without a name pays for the request.',
  },
  {
    icon: ShieldCheck,
    title: 'Checked, not believed',
    text: 'The process that sees content proves its code by attestation. Your client verifies it before it sends the first byte, and you can, too.',
  },
  {
    icon: Route,
    title: 'One address, many providers',
    text: 'Any OpenAI client works. Sotto chooses a route by privacy tier, price and speed, and fails over automatically. Failed attempts are free.',
  },
] as const;

/** The introduction for visitors. */
function Welcome() {
  return (
    <Page
      title="A gateway to AI models that keeps your identity separate from your prompts"
      lead="Sotto reaches many model providers through one OpenAI-compatible address. In the private flow, no single process sees both who you are and what you ask."
      actions={
        <>
          <Link to="/sign-up" className={buttonClass('primary')}>
            Create an account
          </Link>
          <Link to="/models" className={buttonClass('plain')}>
            See the models
          </Link>
        </>
      }
    >
      <OneProcessNotice />
      <div className="grid gap-4 md:grid-cols-3">
        {promises.map(({ icon: Icon, title, text }) => (
          <Card key={title}>
            <Icon aria-hidden className="mb-3 size-6 text-accent" />
            <h2 className="font-semibold">{title}</h2>
            <p className="mt-1 text-muted">{text}</p>
          </Card>
        ))}
      </div>
      <Card>
        <Suspense fallback={<Loading label="The picture is loading" lines={6} />}>
          <ThreeModes />
        </Suspense>
      </Card>
      <p className="text-muted">
        For programs, there is the{' '}
        <Link to="/reference" className={linkClass}>
          API reference
        </Link>
        .
      </p>
    </Page>
  );
}
