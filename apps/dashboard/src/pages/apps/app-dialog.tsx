import { type AppScope, appScopes } from '@sotto/contract/control/app-scopes';
import type { AppAnswer, CreateApp } from '@sotto/contract/control/connect';
import { useState } from 'react';
import { call } from '../../api/call.ts';
import { ApiError, sentenceOf } from '../../api/errors.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/change-form.tsx';
import { CodeBlock } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { RadioCards, TextAreaField, TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { appsQuery, scopeWords } from './apps.ts';

interface AppDialogProps {
  /** Undefined: a new one. */
  readonly app: AppAnswer | undefined;
  readonly onClose: () => void;
  readonly onSaved: (app: AppAnswer) => void;
}

/** Registers an app, or changes one. Its type stays. */
export function AppDialog({ app, onClose, onSaved }: AppDialogProps) {
  const [draft, setDraft] = useState<AppDraft>(app === undefined ? emptyDraft : draftOf(app));
  const set = (change: Partial<AppDraft>): void => setDraft({ ...draft, ...change });
  const saving = useChange({
    mutationFn: () => {
      const { type, ...change } = requestOf(draft);
      return app === undefined
        ? call('POST /v1/connect/apps', { body: { type, ...change } })
        : call('PATCH /v1/connect/apps/{id}', { params: { id: app.id }, body: change });
    },
    refreshes: appsQuery,
    onSuccess: onSaved,
  });
  const field = saving.error instanceof ApiError ? fieldOf(saving.error.param) : undefined;
  const refusalOf = (name: string): string | undefined => (field === name ? sentenceOf(saving.error) : undefined);
  const close = () => !saving.isPending && onClose();
  return (
    <Dialog
      onClose={close}
      wide
      title={app === undefined ? 'Register an app' : `Change ${app.name}`}
      description="People see its name and homepage when it asks for access."
    >
      <Form
        change={saving}
        errors={shownFields.has(field) ? 'inside' : []}
        action={app === undefined ? 'Register' : 'Save'}
        noValidate
        className="space-y-5"
        onSubmit={() => saving.mutate()}
        onCancel={close}
      >
        <div className="grid items-start gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            value={draft.name}
            maxLength={60}
            autoComplete="off"
            required
            onChange={(event) => set({ name: event.target.value })}
            error={refusalOf('name')}
          />
          <TextField
            label="Homepage"
            type="url"
            placeholder="https://"
            value={draft.homepage}
            autoComplete="off"
            required
            onChange={(event) => set({ homepage: event.target.value })}
            error={refusalOf('homepage')}
          />
        </div>
        {app === undefined && (
          <RadioCards
            legend="Where it runs"
            value={draft.type}
            onChange={(type) => set({ type })}
            choices={[
              { value: 'confidential', label: 'On a server', text: 'It keeps a secret.' },
              {
                value: 'public',
                label: 'In browsers or on devices',
                text: 'It cannot keep a secret, so it does not get one.',
              },
            ]}
          />
        )}
        <TextAreaField
          label="Redirect URIs"
          hint="One per line: https, or http on this machine. They must match exactly."
          value={draft.redirects}
          spellCheck={false}
          required
          onChange={(event) => set({ redirects: event.target.value })}
          error={refusalOf('redirect_uris')}
        />
        <TextAreaField
          label="Addresses after signing out"
          hint="Optional. One per line."
          rows={2}
          value={draft.logoutRedirects}
          spellCheck={false}
          onChange={(event) => set({ logoutRedirects: event.target.value })}
          error={refusalOf('post_logout_redirect_uris')}
        />
        <fieldset className="space-y-3">
          <legend className="mb-2 text-sm font-medium">Access that it may request</legend>
          {appScopes.map((scope) => (
            <CheckField
              key={scope}
              label={
                <>
                  {scopeWords[scope].name} <code className="font-mono text-sm font-normal">{scope}</code>
                </>
              }
              hint={scopeWords[scope].text}
              checked={draft.scopes.includes(scope)}
              onChange={(checked) =>
                set({ scopes: appScopes.filter((one) => (one === scope ? checked : draft.scopes.includes(one))) })
              }
            />
          ))}
          {field === 'scopes' && (
            <p role="alert" className="text-sm text-danger">
              Choose at least one.
            </p>
          )}
        </fieldset>
        {app !== undefined && endsGrants(app, draft) && (
          <Notice tone="warn">
            If you change the redirect URIs, everyone who connected the app must allow it again.
          </Notice>
        )}
      </Form>
    </Dialog>
  );
}

/** Fields that show their own error. */
const shownFields: ReadonlySet<string | undefined> = new Set([
  'name',
  'homepage',
  'redirect_uris',
  'post_logout_redirect_uris',
  'scopes',
]);

/** Shows the id and secret of an app that is new or has a new secret. The secret cannot be shown again. */
export function SecretDialog({ app, onClose }: { app: AppAnswer; onClose: () => void }) {
  return (
    <Dialog onClose={onClose} title={`${app.name} is ready`} description="Enter these in its OAuth library.">
      <div className="space-y-4">
        <CodeBlock label="Client id" code={app.client_id} />
        {app.client_secret === undefined ? (
          <p className="text-muted">It is a public app without a secret. PKCE protects its codes.</p>
        ) : (
          <>
            <CodeBlock label="Client secret" code={app.client_secret} />
            <Notice tone="warn">Save the secret now: it is not shown again. Only the app’s server may read it.</Notice>
          </>
        )}
        <div className="flex justify-end">
          <Button look="primary" onClick={onClose}>
            {app.client_secret === undefined ? 'Done' : 'I saved it'}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** An app as the user types it: addresses one a line. */
interface AppDraft {
  readonly name: string;
  readonly homepage: string;
  readonly type: CreateApp['type'];
  readonly redirects: string;
  readonly logoutRedirects: string;
  readonly scopes: readonly AppScope[];
}

export const emptyDraft: AppDraft = {
  name: '',
  homepage: '',
  type: 'confidential',
  redirects: '',
  logoutRedirects: '',
  scopes: ['openid', 'inference'],
};

export const draftOf = (app: AppAnswer): AppDraft => ({
  name: app.name,
  homepage: app.homepage,
  type: app.type,
  redirects: app.redirect_uris.join('\n'),
  logoutRedirects: app.post_logout_redirect_uris.join('\n'),
  scopes: app.scopes,
});

/** The body to send for a draft. The service checks it. */
export const requestOf = (draft: AppDraft): CreateApp => ({
  name: draft.name,
  homepage: draft.homepage.trim(),
  type: draft.type,
  redirect_uris: linesOf(draft.redirects),
  post_logout_redirect_uris: linesOf(draft.logoutRedirects),
  scopes: [...draft.scopes],
});

/** Whether saving ends what people have allowed the app: other redirect URIs do. */
export function endsGrants(app: AppAnswer, draft: AppDraft): boolean {
  const asked = linesOf(draft.redirects);
  return asked.length !== app.redirect_uris.length || asked.some((uri) => !app.redirect_uris.includes(uri));
}

/** The field of the form that an error's `param`, such as `redirect_uris.0`, is about. */
export const fieldOf = (param: string | undefined): string | undefined => param?.split('.', 1)[0];

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
