import { ArrowUp, Square } from 'lucide-react';
import { type KeyboardEvent, useId } from 'react';
import { Button } from '../../../ui/button.tsx';

export interface ComposerProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly onSend: () => void;
  readonly onStop: () => void;
  readonly isRunning: boolean;
  /** Why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

/** Where the question is written. Enter sends; Shift and Enter begin a new line. */
export function Composer({ label, text, onText, onSend, onStop, isRunning, obstacle }: ComposerProps) {
  const id = useId();
  const canSend = obstacle === undefined && !isRunning && text.trim() !== '';
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (canSend) onSend();
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (canSend) onSend();
      }}
      className="rounded-2xl border border-line-strong bg-surface p-2 has-[textarea:focus-visible]:outline-2 has-[textarea:focus-visible]:outline-accent"
    >
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <textarea
        id={id}
        rows={3}
        value={text}
        placeholder="Ask something"
        aria-describedby={`${id}-hint`}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={onKeyDown}
        className="block max-h-72 w-full resize-none bg-transparent px-2 py-1 field-sizing-content outline-none"
      />
      <div className="flex items-center justify-between gap-3 px-1">
        <p id={`${id}-hint`} className="text-sm text-muted">
          {obstacle ?? 'Enter sends, Shift+Enter begins a new line.'}
        </p>
        {isRunning ? (
          <Button small onClick={onStop} icon={<Square aria-hidden className="size-3.5" />}>
            Stop
          </Button>
        ) : (
          <Button
            small
            type="submit"
            look="primary"
            disabled={!canSend}
            icon={<ArrowUp aria-hidden className="size-4" />}
          >
            Send
          </Button>
        )}
      </div>
    </form>
  );
}
