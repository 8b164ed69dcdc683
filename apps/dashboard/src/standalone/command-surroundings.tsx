import type { PlaygroundStanding } from '@sotto/client/playground';
import type { ReactNode } from 'react';
import type { Surroundings } from '../pages/playground/surroundings.ts';
import { linkClass } from '../ui/button.tsx';

/** The playground as the page of `sotto playground`. Its links open the dashboard, which control serves, in another tab. */
export function commandSurroundings({
  controlOrigin,
  isOneProcess,
}: Pick<PlaygroundStanding, 'controlOrigin' | 'isOneProcess'>): Surroundings {
  const dashboardLink = (path: string, text: ReactNode): ReactNode => (
    <a href={`${controlOrigin}${path}`} target="_blank" rel="noopener noreferrer" className={linkClass}>
      {text}
    </a>
  );
  return {
    sender: 'The sotto command',
    senderProof: (
      <>
        You can see in your browser’s network tools that this page speaks to the command alone. Its script comes from
        the command, too. Control cannot change it.
      </>
    ),
    unseenTlsKey: 'The connection has no TLS, as only on one machine, so no key was compared.',
    scriptNote: 'The script of this page comes from the sotto command on this machine, not from control.',
    isOneProcess,
    // The page of control that verifies is a page of control again.
    linkTo: (page, text) => (page === '/verify' ? null : dashboardLink(page, text)),
    linkToError: (row, text) => dashboardLink(`/guides/reference/errors#${row}`, text),
    onCharged: () => {},
  };
}
