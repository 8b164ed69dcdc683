import type { MemberRole, WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { call } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { formatCount } from '../../format/format.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { SelectField, TextAreaField } from '../../ui/field.tsx';
import { ErrorState, Notice } from '../../ui/surface.tsx';
import { type InvitedSoFar, inviteAll, readAddresses } from './invite-all.ts';
import { givenRoles, roleWords } from './role-words.ts';

interface InviteManyProps {
  readonly workspace: WorkspaceAnswer;
  /** The link that has the token of an invitation. */
  readonly linkOf: (token: string) => string;
  /** The list to read again. */
  readonly refreshes: { readonly queryKey: readonly unknown[] };
}

/** Invites a pasted list of addresses, one after the other. */
export function InviteMany({ workspace, linkOf, refreshes }: InviteManyProps) {
  const [text, setText] = useState('');
  const [role, setRole] = useState<MemberRole>('member');
  const [sofar, setSofar] = useState<InvitedSoFar>({ links: [], refused: [] });
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const client = useQueryClient();
  const { emails, wrong } = readAddresses(text);
  const inviting = useChange({
    mutationFn: (chosen: readonly string[]) =>
      inviteAll(chosen, {
        invite: async (email) => {
          const body = { email, role };
          return linkOf(
            (await call('POST /v1/workspaces/{id}/invitations', { params: { id: workspace.id }, body })).token,
          );
        },
        onProgress: setSofar,
        sleep,
        signal: leaving.current.signal,
      }),
    refreshes,
    // Some were invited before.
    onError: () => client.invalidateQueries(refreshes),
  });
  const done = sofar.links.length + sofar.refused.length;
  return (
    <details className="rounded-xl border border-line px-4 py-3">
      <summary className="cursor-pointer font-medium">Invite many people</summary>
      <div className="mt-4 space-y-4">
        <TextAreaField
          label="Addresses"
          hint="One a line, or separated by commas. The service limits invitations a minute, so a long list takes some minutes: keep this page open."
          error={wrong.length === 0 ? undefined : `Not an address: ${wrong.slice(0, 3).join(', ')}.`}
          rows={6}
          value={text}
          onChange={(event) => setText(event.target.value)}
          disabled={inviting.isPending}
        />
        <SelectField
          label="Role of each"
          value={role}
          onChange={setRole}
          choices={givenRoles.map((one) => ({ value: one, label: roleWords[one].name }))}
          disabled={inviting.isPending}
        />
        <Button
          look="primary"
          busy={inviting.isPending}
          disabled={emails.length === 0 || wrong.length > 0}
          onClick={() => {
            setSofar({ links: [], refused: [] });
            inviting.mutate(emails);
          }}
        >
          {emails.length === 0 ? 'Invite all' : `Invite all ${formatCount(emails.length)}`}
        </Button>
        {(inviting.isPending || done > 0) && (
          <Notice tone={sofar.refused.length === 0 ? 'good' : 'info'}>
            <p>
              {formatCount(sofar.links.length)} invited
              {sofar.refused.length > 0 && `, ${formatCount(sofar.refused.length)} not`}
              {inviting.isPending && `, ${formatCount((inviting.variables?.length ?? done) - done)} left`}.
            </p>
            {sofar.refused.length > 0 && (
              <ul className="mt-2 text-sm">
                {sofar.refused.map(([email, reason]) => (
                  <li key={email} className="wrap-anywhere">
                    {email}: {reason}
                  </li>
                ))}
              </ul>
            )}
            {sofar.links.length > 0 && (
              <p className="mt-2 flex flex-wrap items-center gap-2 text-sm">
                If this deployment sends no mail, send each person their link. The links are shown only now.
                <CopyButton text={sofar.links.map((pair) => pair.join(' ')).join('\n')} label="Copy links" />
              </p>
            )}
          </Notice>
        )}
        {inviting.error !== null && <ErrorState error={inviting.error} />}
      </div>
    </details>
  );
}

const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
