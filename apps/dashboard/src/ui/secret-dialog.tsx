import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';
import { CopyButton } from './copy.tsx';
import { Dialog } from './dialog.tsx';
import { Form, type FormDialogProps } from './form.tsx';
import { Notice } from './surface.tsx';

/** A secret that the service answers once. */
export interface Secret {
  readonly title: string;
  readonly description: string;
  /** What it is, such as "key". */
  readonly noun: string;
  /** Undefined: the object has no secret. */
  readonly text: string | undefined;
  /** Above it, such as the id that belongs to it. */
  readonly before?: ReactNode;
  /** What may be done with it. */
  readonly note: ReactNode;
  /** Under the note, such as how to use it. */
  readonly after?: ReactNode;
}

interface SecretDialogProps extends Omit<FormDialogProps, 'disabled' | 'showsErrors'> {
  /** The secret, once the form has made it. */
  readonly secret: Secret | undefined;
}

/** A form in a dialog, and then the secret that it made. Warns before it closes if the secret was not copied. */
export function SecretDialog({ secret, form, action, look, children, ...dialog }: SecretDialogProps) {
  const { onClose, title, description, wide = false } = dialog;
  const [isCopied, setCopied] = useState(false);
  const [isWarned, setWarned] = useState(false);
  const close = (): void => {
    if (secret?.text !== undefined && !isCopied) {
      setWarned(true);
      return;
    }
    form.forget?.();
    onClose();
  };
  return (
    <Dialog
      onClose={close}
      isBusy={form.change?.isPending ?? false}
      title={secret?.title ?? title}
      description={secret?.description ?? description}
      wide={wide && secret === undefined}
    >
      {secret === undefined ? (
        <Form form={form} action={action} look={look} className="space-y-5" onCancel={onClose}>
          {children}
        </Form>
      ) : (
        <Shown
          secret={secret}
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

interface ShownProps {
  readonly secret: Secret;
  readonly isCopied: boolean;
  /** The user tried to close the dialog before copying the secret. */
  readonly isWarned: boolean;
  readonly onCopied: () => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** Shows a secret. It cannot be shown again. */
function Shown({
  secret: { noun, text, before, note, after },
  isCopied,
  isWarned,
  onCopied,
  onDone,
  onClose,
}: ShownProps) {
  return (
    <div className="space-y-4">
      {before}
      {text !== undefined && (
        <div className="space-y-3 rounded-xl border border-line bg-raised p-3">
          <p className="sr-only">{`The new ${noun}:`}</p>
          <code data-testid={`new-${noun}`} onCopy={onCopied} className="block font-mono text-sm break-all">
            {text}
          </code>
          <CopyButton text={text} label={`Copy ${noun}`} onCopied={onCopied} />
        </div>
      )}
      <p className="text-sm text-muted">{note}</p>
      {after}
      {isWarned && text !== undefined ? (
        <Notice tone="warn">
          <p className="mb-3">{`You have not copied the ${noun}. After you close this, it cannot be shown again.`}</p>
          <div className="flex flex-wrap gap-2">
            <CopyButton text={text} label={`Copy ${noun} first`} onCopied={onCopied} />
            <Button small look="danger" onClick={onClose}>
              Close without copying
            </Button>
          </div>
        </Notice>
      ) : (
        <div className="flex justify-end">
          <Button look={isCopied || text === undefined ? 'primary' : 'plain'} onClick={onDone}>
            Done
          </Button>
        </div>
      )}
    </div>
  );
}
