import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { balanceQuery } from '../../api/queries.ts';
import { linkClass } from '../../ui/button.tsx';
import { useOneProcess } from '../../verification/one-process.tsx';
import { type Surroundings, SurroundingsProvider } from './surroundings.ts';

/** The playground as a page of the dashboard, which control serves. */
export function DashboardSurroundings({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const isOneProcess = useOneProcess();
  const surroundings = useMemo(
    (): Surroundings => ({
      ...dashboard,
      isOneProcess,
      onCharged: () => void client.invalidateQueries({ queryKey: balanceQuery.queryKey }),
    }),
    [client, isOneProcess],
  );
  return <SurroundingsProvider value={surroundings}>{children}</SurroundingsProvider>;
}

const ownClient = (
  <Link to="/guides/$" params={{ _splat: 'use/private-client' }} hash="playground" className={linkClass}>
    Use your own client
  </Link>
);

const dashboard: Omit<Surroundings, 'onCharged' | 'isOneProcess'> = {
  sender: 'This browser',
  senderProof: (
    <>
      You can see both in your browser’s network tools. This page comes from control, so you trust its script here.{' '}
      {ownClient}, such as <code>sotto playground</code>, to do the same without it.
    </>
  ),
  unseenTlsKey: 'A browser cannot see the TLS key of its connection, so that part depends on the certificate.',
  scriptNote: <>A malicious control could serve a page that reads what you type here. {ownClient}.</>,
  linkTo: (page, text) => (
    <Link to={page} className={linkClass}>
      {text}
    </Link>
  ),
  linkToError: (row, text) => (
    <Link to="/guides/$" params={{ _splat: 'reference/errors' }} hash={row} className={linkClass}>
      {text}
    </Link>
  ),
};
