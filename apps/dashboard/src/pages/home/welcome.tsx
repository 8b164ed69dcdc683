import { Link } from '@tanstack/react-router';
import { EyeOff, Route, ShieldCheck } from 'lucide-react';
import { buttonClass } from '../../ui/button.tsx';
import { Card, Page } from '../../ui/surface.tsx';

const promises = [
  {
    icon: EyeOff,
    title: 'Who asks stays apart from what is asked',
    text: 'Accounts, keys and money live in one process that never sees content; content passes through another that never learns whose it is. A single-use ticket is all that they share.',
  },
  {
    icon: ShieldCheck,
    title: 'Checked, not believed',
    text: 'The process that sees content shows by attestation what it runs. Your client checks it before the first byte leaves, and so can you.',
  },
  {
    icon: Route,
    title: 'One address, many providers',
    text: 'Any OpenAI client works. Routes are chosen by privacy tier, price and speed, with automatic failover; failed attempts are free.',
  },
] as const;

/** What visitors see first. */
export function Welcome() {
  return (
    <Page
      title="A model router that keeps who asks apart from what is asked"
      lead="Sotto reaches many model providers through one OpenAI-compatible address, and no part of its operator’s systems sees both who you are and what you ask."
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
      <div className="grid gap-4 md:grid-cols-3">
        {promises.map(({ icon: Icon, title, text }) => (
          <Card key={title}>
            <Icon aria-hidden className="mb-3 size-6 text-accent" />
            <h2 className="font-semibold">{title}</h2>
            <p className="mt-1 text-muted">{text}</p>
          </Card>
        ))}
      </div>
      <p className="text-muted">
        For programs: every endpoint is described at{' '}
        <a href="/v1/docs" className="text-accent underline underline-offset-2">
          /v1/docs
        </a>
        .
      </p>
    </Page>
  );
}
