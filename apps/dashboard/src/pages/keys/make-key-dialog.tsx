import type { CreateKey, KeyAnswer } from '@sotto/contract/control/keys';
import type { WorkspaceAnswer } from '@sotto/contract/control/workspaces';
import { type ReactNode, useState } from 'react';
import { type Answer, call } from '../../api/call.ts';
import { allKeys, createKey } from '../../api/keys.ts';
import { useChange } from '../../api/use-change.ts';
import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { RadioCards, SelectField } from '../../ui/field.tsx';
import { Form } from '../../ui/form.tsx';
import { Notice } from '../../ui/surface.tsx';
import { draftOf, KeyFields, keyFieldNames, type Mistakes, readRules } from './key-fields.tsx';
import { mayMakeManagementKeys } from './key-rules.ts';

interface MakeKeyDialogProps {
  readonly workspace: WorkspaceAnswer;
  readonly onClose: () => void;
}

const emptyDraft = draftOf();

/** Asks what the key is for, makes it, and shows it once. */
export function MakeKeyDialog({ workspace, onClose }: MakeKeyDialogProps) {
  const [draft, setDraft] = useState(emptyDraft);
  const [kind, setKind] = useState<CreateKey['kind']>('inference');
  const [mistakes, setMistakes] = useState<Mistakes>({});
  const making = useChange({ mutationFn: createKey, gcTime: 0, refreshes: allKeys });

  const submit = () => {
    const isInference = kind === 'inference';
    const asked = isInference ? draft : { ...emptyDraft, lastDay: draft.lastDay };
    const read = readRules(asked, emptyDraft);
    setMistakes(read.mistakes);
    if (Object.keys(read.mistakes).length > 0) return;
    making.mutate({ name: draft.name, kind, workspace_id: workspace.id, ...read.rules });
  };
  return (
    <SecretDialog title="Create key" made={making.data} isPending={making.isPending} onClose={onClose}>
      <Form
        change={making}
        errors={keyFieldNames}
        action="Create key"
        className="space-y-5"
        onSubmit={submit}
        onCancel={() => !making.isPending && onClose()}
      >
        {mayMakeManagementKeys(workspace.role) && (
          <RadioCards
            legend="Kind of key"
            value={kind}
            onChange={setKind}
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
          draft={draft}
          onChange={setDraft}
          isInference={kind === 'inference'}
          mistakes={mistakes}
          error={making.error}
        />
      </Form>
    </SecretDialog>
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
export function RotateKeyDialog({ apiKey, onClose }: { apiKey: KeyAnswer; onClose: () => void }) {
  const [overlap, setOverlap] = useState<(typeof overlaps)[number]['value']>('24');
  const rotating = useChange({
    mutationFn: (hours: number) =>
      call('POST /v1/keys/{id}/rotate-secret', { params: { id: apiKey.id }, body: { overlap_hours: hours } }),
    gcTime: 0,
    refreshes: allKeys,
  });
  const close = () => !rotating.isPending && onClose();
  return (
    <SecretDialog
      title={`Rotate “${apiKey.name}”`}
      made={rotating.data}
      isPending={rotating.isPending}
      onClose={onClose}
    >
      <Form
        change={rotating}
        action="Create new secret"
        className="space-y-5"
        onSubmit={() => rotating.mutate(Number(overlap))}
        onCancel={close}
      >
        <p className="text-muted">
          The key gets a new secret and keeps its limits, budgets and usage. Until the old secret stops, both work and
          share them.
        </p>
        <SelectField
          label="The old secret stops"
          hint={
            overlap === '0'
              ? 'Programs that use it are refused from now on. Choose this if it leaked.'
              : 'Put the new secret into your programs before then.'
          }
          value={overlap}
          choices={overlaps}
          onChange={setOverlap}
        />
      </Form>
    </SecretDialog>
  );
}

interface SecretDialogProps {
  readonly title: string;
  /** The key, once it has its new secret. */
  readonly made: Answer<'POST /v1/keys'> | undefined;
  readonly isPending: boolean;
  readonly onClose: () => void;
  /** The form that makes the secret. */
  readonly children: ReactNode;
}

/** A form, and then the secret that it made. Warns before it closes if the secret was not copied. */
function SecretDialog({ title, made, isPending, onClose, children }: SecretDialogProps) {
  const [isCopied, setCopied] = useState(false);
  const [isWarned, setWarned] = useState(false);
  const close = (): void => {
    if (isPending) return;
    if (made !== undefined && !isCopied) setWarned(true);
    else onClose();
  };
  return (
    <Dialog
      onClose={close}
      title={made === undefined ? title : 'Copy your key now'}
      description={made && `“${made.name}” is ready. It is shown only now.`}
    >
      {made === undefined ? (
        children
      ) : (
        <NewKey
          apiKey={made}
          isWarned={isWarned && !isCopied}
          isCopied={isCopied}
          onCopied={() => setCopied(true)}
          onClose={onClose}
          onDone={close}
        />
      )}
    </Dialog>
  );
}

interface NewKeyProps {
  readonly apiKey: Answer<'POST /v1/keys'>;
  readonly isCopied: boolean;
  /** The user tried to close the dialog before copying the key. */
  readonly isWarned: boolean;
  readonly onCopied: () => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Shows a new key. It cannot be shown again. */
function NewKey({ apiKey, isCopied, isWarned, onCopied, onDone, onClose }: NewKeyProps) {
  return (
    <div className="space-y-4">
      <div className="space-y-3 rounded-xl border border-line bg-raised p-3">
        <code data-testid="new-key" onCopy={onCopied} className="block font-mono text-sm break-all">
          {apiKey.key}
        </code>
        <CopyButton text={apiKey.key} label="Copy key" onCopied={onCopied} />
      </div>
      <p className="text-sm text-muted">
        Treat it like a password: anyone who has it{' '}
        {apiKey.kind === 'inference' ? 'can spend your balance' : 'can read your usage'}. If it leaks, revoke it here.
      </p>
      {isWarned ? (
        <Notice tone="warn">
          <p className="mb-3">You have not copied the key. After you close this, it cannot be shown again.</p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={apiKey.key} label="Copy key first" onCopied={onCopied} />
            <Button small look="danger" onClick={onClose}>
              Close without copying
            </Button>
          </div>
        </Notice>
      ) : (
        <div className="flex justify-end">
          <Button look={isCopied ? 'primary' : 'plain'} onClick={onDone}>
            Done
          </Button>
        </div>
      )}
    </div>
  );
}
