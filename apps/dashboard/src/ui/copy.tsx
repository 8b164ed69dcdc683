import clsx from 'clsx';
import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { ScrollArea } from './surface.tsx';
import { useAnnounce } from './toasts.tsx';

const shownMs = 2_000;

interface CopyButtonProps {
  readonly text: string;
  readonly label?: string;
  /** Shows the icon alone; the label is its name. */
  readonly iconOnly?: boolean;
  readonly onCopied?: () => void;
}

/** Copies a text to the clipboard and shows that it did, or says that the browser refused. */
export function CopyButton({ text, label = 'Copy', iconOnly = false, onCopied }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const announce = useAnnounce();
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      onClick={() => {
        navigator.clipboard.writeText(text).then(
          () => {
            setCopied(true);
            onCopied?.();
          },
          () => announce({ tone: 'danger', text: 'The browser did not allow copying. Select the text instead.' }),
        );
      }}
      {...(iconOnly ? { title: label } : {})}
      className="inline-flex min-h-8 items-center justify-center gap-1.5 rounded-lg border border-line bg-surface px-2 text-sm text-text hover:bg-raised"
    >
      {isCopied ? <Check aria-hidden className="size-4 text-good" /> : <Copy aria-hidden className="size-4" />}
      <span aria-live="polite" className={clsx(iconOnly && 'sr-only')}>
        {isCopied ? 'Copied' : label}
      </span>
    </button>
  );
}

interface CodeBlockProps {
  readonly code: string;
  readonly label: string;
  /** Tells it apart from others with this label. */
  readonly name?: string;
}

/** A text in full, such as a command, to read and to copy. */
export function CodeBlock({ code, label, name = label }: CodeBlockProps) {
  return (
    <figure className="min-w-0 overflow-hidden rounded-xl border border-line bg-raised">
      <figcaption className="flex items-center justify-between gap-2 border-b border-line px-3 py-1.5 text-sm text-muted">
        {label}
        <CopyButton text={code} />
      </figcaption>
      <ScrollArea label={name}>
        <pre className="p-3 font-mono text-[0.8125rem] leading-relaxed">
          <code>{code}</code>
        </pre>
      </ScrollArea>
    </figure>
  );
}

interface CopyLineProps {
  readonly text: string;
  /** Of the button. */
  readonly label: string;
  readonly testId: string;
}

/** A secret or a link within other text, to read and to copy. */
export function CopyLine({ text, label, testId }: CopyLineProps) {
  return (
    <div className="flex flex-wrap items-center gap-2">
      <code data-testid={testId} className="min-w-0 font-mono text-sm break-all">
        {text}
      </code>
      <CopyButton text={text} label={label} />
    </div>
  );
}
