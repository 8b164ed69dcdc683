import type { ReactNode } from 'react';
import { Card } from '../../ui/surface.tsx';

/** The narrow frame of pages before one is signed in. */
export function Entry({ title, lead, children }: { title: string; lead?: ReactNode; children: ReactNode }) {
  return (
    <div className="mx-auto w-full max-w-md px-4 py-10 sm:py-16">
      <title>{`${title} · Sotto`}</title>
      <h1 className="mb-1 text-2xl font-semibold tracking-tight">{title}</h1>
      {lead !== undefined && <p className="mb-4 text-muted">{lead}</p>}
      <Card className="mt-4">{children}</Card>
    </div>
  );
}
