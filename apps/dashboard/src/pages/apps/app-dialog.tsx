import { type AppAnswer, appScopes } from '@sotto/wire';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError, sentenceOf } from '../../api/call.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { CheckField } from '../../ui/check-field.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { RadioCards, TextAreaField, TextField } from '../../ui/field.tsx';
import { Notice } from '../../ui/surface.tsx';
import { type AppDraft, draftOf, emptyDraft, endsGrants, fieldOf, requestOf } from './app-draft.ts';
import { appsQuery, createApp, updateApp } from './app-queries.ts';
import { scopeWords } from './scope-words.ts';

export interface AppDialogProps {
  /** Undefined: a new one. */
  readonly app: AppAnswer | undefined;
  readonly onClose: () => void;
  readonly onSaved: (app: AppAnswer) => void;
}

/** Registers an app, or changes one. Its type stays. */
export function AppDialog({ app, onClose, onSaved }: AppDialogProps) {
  const [draft, setDraft] = useState<AppDraft>(app === undefined ? emptyDraft : draftOf(app));
  const set = (change: Partial<AppDraft>): void => setDraft({ ...draft, ...change });
  const client = useQueryClient();
  const saving = useChange({
    mutationFn: () => {
      const { type, ...change } = requestOf(draft);
      return app === undefined ? createApp({ type, ...change }) : updateApp(app.id, change);
    },
    onSuccess: async (saved) => {
      await client.invalidateQueries({ queryKey: appsQuery.queryKey });
      onSaved(saved);
    },
  });
  const field = saving.error instanceof ApiError ? fieldOf(saving.error.param) : undefined;
  const refusalOf = (name: string): string | undefined => (field === name ? sentenceOf(saving.error) : undefined);
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    saving.mutate();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      wide
      title={app === undefined ? 'Register an app' : `Change ${app.name}`}
      description="People see its name and homepage when they are asked to allow it."
    >
      <form onSubmit={submit} className="space-y-5" noValidate>
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
              { value: 'public', label: 'In browsers or on devices', text: 'It can keep no secret and has none.' },
            ]}
          />
        )}
        <TextAreaField
          label="Redirect URIs"
          hint="One a line: https, or http on this machine. Compared character by character."
          value={draft.redirects}
          spellCheck={false}
          required
          onChange={(event) => set({ redirects: event.target.value })}
          error={refusalOf('redirect_uris')}
        />
        <TextAreaField
          label="Addresses after signing out"
          hint="One a line; none is fine."
          rows={2}
          value={draft.logoutRedirects}
          spellCheck={false}
          onChange={(event) => set({ logoutRedirects: event.target.value })}
          error={refusalOf('post_logout_redirect_uris')}
        />
        <fieldset className="space-y-3">
          <legend className="mb-2 text-sm font-medium">What it may ask people for</legend>
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
            With other redirect URIs, everybody who has connected the app has to allow it again.
          </Notice>
        )}
        {saving.isError && !shownFields.has(field) && (
          <p role="alert" className="text-danger">
            {sentenceOf(saving.error)}
          </p>
        )}
        <div className="flex flex-wrap justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" busy={saving.isPending}>
            {app === undefined ? 'Register' : 'Save'}
          </Button>
        </div>
      </form>
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
