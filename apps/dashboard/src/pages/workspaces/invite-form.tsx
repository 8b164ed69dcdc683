import { type WorkspaceRole, workspaceRoles } from '@sotto/contract/control/workspace-role';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { type Answer, call } from '../../api/call.ts';
import { controlOrigin } from '../../api/origins.ts';
import { useChange } from '../../api/use-change.ts';
import { formatCount } from '../../format/format.ts';
import { signInMethodsQuery } from '../../session/session.ts';
import { CopyButton, CopyLine } from '../../ui/copy.tsx';
import { SelectField, TextAreaField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';
import { type InvitedSoFar, inviteAll, readAddresses } from './invite-all.ts';
import { givenRoles, roleWords } from './role-words.ts';

interface InviteFormProps {
  readonly workspace: WorkspaceAnswer;
  /** The list to read again. */
  readonly refreshes: { readonly queryKey: readonly unknown[] };
}

interface Inviting {
  readonly emails: readonly string[];
  readonly role: WorkspaceRole;
}

const noneYet: InvitedSoFar = { links: [], refused: [] };

/** Invites one address, or a pasted list of them, one after the other. */
export function InviteForm({ workspace, refreshes }: InviteFormProps) {
  const [text, setText] = useState('');
  const [chosen, setRole] = useState<WorkspaceRole>('member');
  const [sofar, setSofar] = useState(noneYet);
  const leaving = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  const client = useQueryClient();
  const { emails, wrong } = readAddresses(text);
  const isMany = emails.length > 1;
  const isReady = emails.length > 0 && wrong.length === 0;
  const lines = text.split('\n').length;
  // A user cannot give a role above their own. `owner` offers the workspace itself, except the default one, to one person.
  const roles = workspace.role === 'owner' && !workspace.is_default && !isMany ? workspaceRoles : givenRoles;
  const role = roles.find((one) => one === chosen) ?? 'member';
  const inviting = useChange({
    mutationFn: (asked: Inviting) =>
      inviteAll(asked.emails, {
        invite: async (email) => {
          const body = { email, role: asked.role };
          const path = { params: { id: workspace.id }, body };
          return linkOf((await call('POST /v1/workspaces/{id}/invitations', path)).token);
        },
        onProgress: (told) => {
          setSofar(told);
          // What is left is what was not invited.
          setText(asked.emails.filter((email) => !told.links.some(([invited]) => invited === email)).join('\n'));
        },
        sleep,
        signal: leaving.current.signal,
      }),
    refreshes,
    // Some were invited before.
    onError: () => client.invalidateQueries(refreshes),
  });
  return (
    <>
      <Form
        form={{
          change: inviting,
          submit: () => {
            setSofar(noneYet);
            inviting.mutate({ emails, role });
          },
        }}
        action={isMany ? `Invite ${formatCount(emails.length)} people` : 'Invite'}
        disabled={!isReady}
      >
        <div className="grid items-start gap-4 sm:grid-cols-[minmax(0,1fr)_12rem]">
          <TextAreaField
            label="Email"
            hint={
              isMany
                ? 'The service limits invitations a minute, so a long list takes some minutes: keep this page open.'
                : 'One address, or many, separated by commas or lines.'
            }
            error={wrong.length === 0 ? undefined : `Not an address: ${wrong.slice(0, 3).join(', ')}.`}
            rows={lines === 1 && text.length < 50 ? 1 : Math.min(8, lines + 1)}
            autoComplete="off"
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.nativeEvent.isComposing) return;
              // In a list, Enter begins the next line.
              if (!(event.ctrlKey || event.metaKey) && (event.shiftKey || lines > 1)) return;
              event.preventDefault();
              if (isReady) event.currentTarget.form?.requestSubmit();
            }}
            disabled={inviting.isPending}
          />
          <SelectField
            label="Role"
            value={role}
            onChange={setRole}
            choices={roles.map((one) => ({ value: one, label: roleWords[one].name }))}
            disabled={inviting.isPending}
          />
        </div>
        <p className="text-sm text-muted">
          {role === 'owner'
            ? 'Offers the workspace to a member. If they accept, their balance pays, you become an admin, and all its keys are revoked.'
            : roleWords[role].text}
        </p>
      </Form>
      {inviting.variables !== undefined && <Invited sofar={sofar} asked={inviting.variables} />}
    </>
  );
}

/** The token is in the fragment, which browsers do not send to any server. */
const linkOf = (token: string): string => `${controlOrigin}/invitations#token=${encodeURIComponent(token)}`;

const mailWords: Readonly<Record<Answer<'GET /v1/auth/methods'>['mail'], string>> = {
  sent: 'Each person gets a mail with their link.',
  printed: 'This deployment prints its mail in the terminal and sends none, so send each person their link.',
  none: 'This deployment sends no mail, so send each person their link.',
};

/** Who was invited so far, with the links, and who was not. */
function Invited({ sofar: { links, refused }, asked: { emails, role } }: { sofar: InvitedSoFar; asked: Inviting }) {
  const [only, ...others] = links;
  const mail = useQuery(signInMethodsQuery).data?.mail;
  const left = emails.length - links.length - refused.length;
  if (links.length + refused.length === 0) return null;
  return (
    <Notice tone={refused.length === 0 ? 'good' : 'info'}>
      {emails.length === 1 ? (
        only !== undefined && <p>{`${only[0]} is invited as ${roleWords[role].name.toLowerCase()}.`}</p>
      ) : (
        <p>
          {formatCount(links.length)} invited
          {refused.length > 0 && `, ${formatCount(refused.length)} not`}
          {left > 0 && `, ${formatCount(left)} left`}.
        </p>
      )}
      {refused.length > 0 && (
        <ul className="my-2 text-sm">
          {refused.map(([email, reason]) => (
            <li key={email} className="wrap-anywhere">
              {email}: {reason}
            </li>
          ))}
        </ul>
      )}
      {only !== undefined && (
        <>
          <p className="mb-2 text-sm">
            {mail === undefined ? '' : `${mailWords[mail]} `}A link is shown only now, and works only for its address.
          </p>
          {others.length === 0 ? (
            <CopyLine text={only[1]} label="Copy link" testId="invitation-link" />
          ) : (
            <CopyButton text={links.map((pair) => pair.join(' ')).join('\n')} label="Copy links" />
          )}
        </>
      )}
    </Notice>
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
