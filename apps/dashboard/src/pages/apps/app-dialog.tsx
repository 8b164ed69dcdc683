import { appScopes } from '@sotto/contract/control/app-scopes';
import type { AppAnswer, CreateApp } from '@sotto/contract/control/connect';
import { useId } from 'react';
import { call } from '../../api/call.ts';
import { linesOf } from '../../api/read-body.ts';
import { useChange } from '../../api/use-change.ts';
import { type FormFields, useForm } from '../../api/use-form.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { RadioCards, TextAreaField, TextField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { type Secret, SecretDialog } from '../../ui/secret-dialog.tsx';
import { Notice } from '../../ui/surface.tsx';
import { CheckField } from '../../ui/toggle-fields.tsx';
import { appsQuery, scopeWords } from './apps.ts';

interface DialogProps {
  readonly onClose: () => void;
}

const seen = 'People see its name and homepage when it asks for access.';

/** Registers an app, and shows its id and its secret. */
export function NewAppDialog({ onClose }: DialogProps) {
  const form = useForm('POST /v1/connect/apps', {
    start: { type: 'confidential', scopes: ['openid', 'inference'] },
    refreshes: appsQuery,
    answersSecret: true,
  });
  return (
    <SecretDialog
      form={form}
      title="Register an app"
      description={seen}
      action="Register"
      wide
      secret={form.change.data && secretOf(form.change.data)}
      onClose={onClose}
    >
      <NameFields form={form} />
      <RadioCards
        {...form.choice('type')}
        legend="Where it runs"
        choices={[
          { value: 'confidential', label: 'On a server', text: 'It keeps a secret.' },
          {
            value: 'public',
            label: 'In browsers or on devices',
            text: 'It cannot keep a secret, so it does not get one.',
          },
        ]}
      />
      <AccessFields form={form} />
    </SecretDialog>
  );
}

/** Changes an app. Its type stays. */
export function ChangeAppDialog({ app, onClose }: DialogProps & { readonly app: AppAnswer }) {
  const form = useForm('PATCH /v1/connect/apps/{id}', {
    params: { id: app.id },
    start: app,
    refreshes: appsQuery,
    onSuccess: onClose,
  });
  return (
    <FormDialog form={form} title={`Change ${app.name}`} description={seen} action="Save" wide onClose={onClose}>
      <NameFields form={form} />
      <AccessFields form={form} />
      {endsGrants(app, form.text('redirect_uris').value) && (
        <Notice tone="warn">
          If you change the redirect URIs, everyone who connected the app must allow it again.
        </Notice>
      )}
    </FormDialog>
  );
}

/** Gives an app another secret, and shows it. */
export function RotateAppDialog({ app, onClose }: DialogProps & { readonly app: AppAnswer }) {
  const change = useChange({
    mutationFn: () => call('POST /v1/connect/apps/{id}/rotate-secret', { params: { id: app.id } }),
    gcTime: 0,
    refreshes: appsQuery,
    answersSecret: true,
  });
  return (
    <SecretDialog
      form={{ change, submit: change.mutate }}
      title={`A new secret for ${app.name}?`}
      action="Create a new secret"
      look="danger"
      secret={change.data && secretOf(change.data)}
      onClose={onClose}
    >
      <p className="text-muted">
        The old secret stops working at once, and everyone who connected the app must allow it again.
      </p>
    </SecretDialog>
  );
}

/** The fields that a new and an existing app have in common. */
type AppForm = FormFields<Omit<CreateApp, 'type'>>;

const NameFields = ({ form }: { form: AppForm }) => (
  <div className="grid items-start gap-4 sm:grid-cols-2">
    <TextField {...form.text('name', { required: true })} label="Name" />
    <TextField {...form.text('homepage', { required: true })} label="Homepage" placeholder="https://" inputMode="url" />
  </div>
);

function AccessFields({ form }: { form: AppForm }) {
  const scopes = form.choice('scopes', { accepts: ({ length }) => length > 0, mistake: 'Choose at least one.' });
  const mistake = form.errorAt('scopes');
  const id = useId();
  return (
    <>
      <TextAreaField
        {...form.text('redirect_uris', { required: true })}
        label="Redirect URIs"
        hint="One per line: https, or http on this machine. They must match exactly."
        spellCheck={false}
      />
      <TextAreaField
        {...form.text('post_logout_redirect_uris')}
        label="Addresses after signing out"
        hint="Optional. One per line."
        rows={2}
        spellCheck={false}
      />
      <fieldset className="space-y-3" aria-describedby={mistake === undefined ? undefined : id}>
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
            isInvalid={mistake !== undefined}
            checked={scopes.value.includes(scope)}
            onChange={(checked) =>
              scopes.onChange(appScopes.filter((one) => (one === scope ? checked : scopes.value.includes(one))))
            }
          />
        ))}
        {mistake !== undefined && (
          <p id={id} role="alert" className="text-sm text-danger">
            {mistake}
          </p>
        )}
      </fieldset>
    </>
  );
}

/** The id of an app that is new or has a new secret, and the secret. A public app has none. */
const secretOf = ({ name, client_id, client_secret }: AppAnswer): Secret => ({
  title: `${name} is ready`,
  description: 'Enter these in its OAuth library.',
  noun: 'secret',
  text: client_secret,
  before: <CodeBlock label="Client id" code={client_id} />,
  note:
    client_secret === undefined
      ? 'It is a public app without a secret. PKCE protects its codes.'
      : 'Save the secret now: it is not shown again. Only the app’s server may read it.',
});

/** Whether saving ends what people have allowed the app: other redirect URIs do. `typed` has one a line. */
export function endsGrants(app: AppAnswer, typed: string): boolean {
  const asked = linesOf(typed);
  return asked.length !== app.redirect_uris.length || asked.some((uri) => !app.redirect_uris.includes(uri));
}
