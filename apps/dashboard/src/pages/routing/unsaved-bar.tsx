import { useBlocker } from '@tanstack/react-router';
import { Button } from '../../ui/button.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Sentence } from '../../ui/sentence.tsx';

export interface UnsavedBarProps {
  /** The settings that differ from the saved ones, by name. */
  readonly changed: readonly string[];
  /** Why they cannot be saved as they are. */
  readonly problem: string | undefined;
  readonly busy: boolean;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** Says what is not saved, at the foot of the page. */
export function UnsavedBar({ changed, problem, busy, onSave, onDiscard }: UnsavedBarProps) {
  return (
    <section
      aria-label="Unsaved changes"
      className="sticky bottom-0 z-20 -mx-4 border-t border-line-strong bg-surface px-4 py-3 shadow-lg sm:-mx-6 sm:px-6 lg:-mx-8 lg:px-8"
    >
      <div className="flex flex-wrap items-center justify-between gap-x-6 gap-y-2">
        <div className="min-w-0 flex-1 basis-64">
          <p role="status" className="font-medium">
            {sentenceOn(changed.length)}
            {changed.length > 0 && <span className="font-normal text-muted">: {changed.join(', ')}</span>}
          </p>
          {problem !== undefined && (
            <p role="alert" className="text-sm text-danger">
              <Sentence text={problem} />
            </p>
          )}
        </div>
        <div className="flex gap-2">
          <Button onClick={onDiscard} disabled={busy}>
            Discard
          </Button>
          <Button look="primary" busy={busy} onClick={onSave}>
            Save
          </Button>
        </div>
      </div>
    </section>
  );
}

function sentenceOn(count: number): string {
  if (count === 0) return 'What was typed cannot be saved yet';
  return count === 1 ? '1 setting is not saved' : `${String(count)} settings are not saved`;
}

/** Asks before the page is left with changes that would be lost. */
export function LeaveGuard({ isUnsaved }: { isUnsaved: boolean }) {
  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => isUnsaved && current.pathname !== next.pathname,
    enableBeforeUnload: isUnsaved,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      open={blocker.status === 'blocked'}
      onOpenChange={(open) => {
        if (!open) blocker.reset?.();
      }}
      title="Leave without saving?"
      consequence="The changes to the routing settings are lost."
      action="Leave"
      onConfirm={() => blocker.proceed?.()}
    />
  );
}
