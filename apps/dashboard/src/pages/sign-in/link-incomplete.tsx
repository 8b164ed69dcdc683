import { Link } from '@tanstack/react-router';
import { buttonClass } from '../../ui/button.tsx';
import { Entry } from './entry.tsx';

/** For whoever came without the secret of a link: by hand, or after it was used. */
export function LinkIncomplete({ title }: { title: string }) {
  return (
    <Entry title={title}>
      <p className="mb-4">This page opens by the link of a mail. It was used already, or a part of it is missing.</p>
      <div className="flex flex-wrap gap-2">
        <Link to="/sign-in" className={buttonClass('primary')}>
          Sign in
        </Link>
        <Link to="/forgot-password" className={buttonClass()}>
          Set a new password
        </Link>
      </div>
    </Entry>
  );
}
