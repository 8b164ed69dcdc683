import { Button } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import { Notice } from '../../ui/surface.tsx';

export interface NewKeyProps {
  readonly apiKey: { readonly key: string; readonly kind: 'inference' | 'management' };
  readonly isCopied: boolean;
  /** Somebody was about to close without having copied it. */
  readonly isWarned: boolean;
  readonly onCopied: () => void;
  readonly onDone: () => void;
  readonly onClose: () => void;
}

/** A key, the only time that it is there to be read. */
export function NewKey({ apiKey, isCopied, isWarned, onCopied, onDone, onClose }: NewKeyProps) {
  return (
    <div className="space-y-4">
      <div className="space-y-3 rounded-xl border border-line bg-raised p-3">
        <code data-testid="new-key" onCopy={onCopied} className="block font-mono text-sm break-all">
          {apiKey.key}
        </code>
        <CopyButton text={apiKey.key} label="Copy key" onCopied={onCopied} />
      </div>
      <p className="text-sm text-muted">
        Keep it like a password: whoever has it{' '}
        {apiKey.kind === 'inference' ? 'spends from your balance' : 'reads your usage'}. If it gets out, revoke it here.
      </p>
      {isWarned ? (
        <Notice tone="warn">
          <p className="mb-3">You have not copied it. Once this is closed, nobody can show it again.</p>
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
