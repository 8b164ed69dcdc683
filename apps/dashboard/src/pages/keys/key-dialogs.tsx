import type { KeyAnswer } from '@sotto/contract/control/keys';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import type { Answer } from '../../api/call.ts';
import { allKeys } from '../../api/keys.ts';
import { confidentialOrigin } from '../../api/origins.ts';
import { useForm } from '../../api/use-form.ts';
import { keepTabKey, tabKeyOf } from '../../inference-key/tab-key.ts';
import { RadioCards, SelectField } from '../../ui/field.tsx';
import { FormDialog } from '../../ui/form.tsx';
import { type Secret, SecretDialog } from '../../ui/secret-dialog.tsx';
import { FirstRequestSnippets } from '../guides/first-request-snippets.tsx';
import { KeyFields } from './key-fields.tsx';
import { mayChangeAllKeys, mayMakeManagementKeys } from './key-rules.ts';

interface DialogProps {
  readonly onClose: () => void;
}

/** Asks what the key is for, makes it, and shows it once. */
export function MakeKeyDialog({ workspace, onClose }: DialogProps & { readonly workspace: WorkspaceAnswer }) {
  const form = useForm('POST /v1/keys', {
    start: { kind: 'inference', openai_compatible: true, allowed_models: null, expires_at: null },
    rest: { workspace_id: workspace.id },
    place: workspace.id,
    refreshes: allKeys,
    answersSecret: true,
    // The guides and the reference fill it in.
    onSuccess: (made) => made.kind === 'inference' && keepTabKey(workspace.id, tabKeyOf(made)),
  });
  const kind = form.choice('kind');
  return (
    <SecretDialog
      title="Create key"
      form={form}
      action="Create key"
      secret={form.change.data && { ...secretOf(form.change.data), after: <FirstUse made={form.change.data} /> }}
      onClose={onClose}
    >
      {mayMakeManagementKeys(workspace.role) && (
        <RadioCards
          legend="Kind of key"
          {...kind}
          choices={[
            {
              value: 'inference',
              label: 'Inference',
              text: 'Sends requests to models, and spends from the balance.',
            },
            {
              value: 'management',
              label: 'Management',
              text: 'Reads balance and usage of the whole account. Cannot send requests to models.',
            },
          ]}
        />
      )}
      <KeyFields
        form={form}
        workspaceId={workspace.id}
        isInference={kind.value === 'inference'}
        isAdmin={mayChangeAllKeys(workspace.role)}
      />
    </SecretDialog>
  );
}

/** How to use a new inference key, which is filled in as this tab keeps it. */
function FirstUse({ made: { kind } }: { made: Answer<'POST /v1/keys'> }) {
  if (kind !== 'inference') return null;
  return (
    <div className="space-y-3">
      <p className="text-sm">
        OpenAI base URL: <code className="font-mono break-all">{confidentialOrigin}/v1</code>
      </p>
      <FirstRequestSnippets />
    </div>
  );
}

/** Changes name, limits and access of a key. */
export function ChangeKeyDialog({
  apiKey,
  isAdmin,
  onClose,
}: DialogProps & { readonly apiKey: KeyAnswer; readonly isAdmin: boolean }) {
  const form = useForm('PATCH /v1/keys/{id}', {
    params: { id: apiKey.id },
    start: apiKey,
    refreshes: allKeys,
    onSuccess: onClose,
    says: ({ name }) => `“${name}” is changed. The change applies from the next request.`,
  });
  return (
    <FormDialog form={form} action="Save" title={`Change “${apiKey.name}”`} onClose={onClose}>
      <KeyFields
        form={form}
        workspaceId={apiKey.workspace_id}
        isInference={apiKey.kind === 'inference'}
        apiKey={apiKey}
        isAdmin={isAdmin}
      />
    </FormDialog>
  );
}

const overlaps = [
  { value: '0', label: 'At once' },
  { value: '1', label: 'After 1 hour' },
  { value: '24', label: 'After 24 hours' },
  { value: '72', label: 'After 3 days' },
  { value: '168', label: 'After 7 days' },
] as const;

/** Gives a key another secret and shows it once. The key keeps its limits, budgets and usage. */
export function RotateKeyDialog({ apiKey, onClose }: DialogProps & { readonly apiKey: KeyAnswer }) {
  const form = useForm('POST /v1/keys/{id}/rotate-secret', {
    params: { id: apiKey.id },
    start: { overlap_hours: 24 },
    refreshes: allKeys,
    answersSecret: true,
  });
  const { value: hours, onChange } = form.choice('overlap_hours');
  return (
    <SecretDialog
      title={`Rotate “${apiKey.name}”`}
      form={form}
      action="Create new secret"
      secret={form.change.data && secretOf(form.change.data)}
      onClose={onClose}
    >
      <p className="text-muted">
        The key gets a new secret and keeps its limits, budgets and usage. Until the old secret stops, both work and
        share them.
      </p>
      <SelectField
        label="The old secret stops"
        hint={
          hours === 0
            ? 'Programs that use it are refused from now on. Choose this if it leaked.'
            : 'Put the new secret into your programs before then.'
        }
        value={overlaps.find(({ value }) => Number(value) === hours)?.value ?? '24'}
        choices={overlaps}
        onChange={(chosen) => onChange(Number(chosen))}
      />
    </SecretDialog>
  );
}

const secretOf = ({ name, kind, key }: Answer<'POST /v1/keys'>): Secret => ({
  title: 'Copy your key now',
  description: `“${name}” is ready. It is shown only now.`,
  noun: 'key',
  text: key,
  note: `Treat it like a password: anyone who has it ${kind === 'inference' ? 'can spend your balance' : 'can read your usage'}. If it leaks, revoke it here.`,
});
