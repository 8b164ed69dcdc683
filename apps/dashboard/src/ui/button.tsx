import clsx from 'clsx';
import { Download, LoaderCircle } from 'lucide-react';
import type { ComponentProps, ReactNode } from 'react';

type Look = 'primary' | 'plain' | 'quiet' | 'danger';

const looks: Record<Look, string> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent',
  plain: 'bg-surface text-text border-line-strong hover:bg-raised',
  quiet: 'bg-transparent text-text border-transparent hover:bg-raised',
  danger: 'bg-surface text-danger border-danger hover:bg-danger-soft',
};

/** The classes of a link within text. */
export const linkClass = 'text-accent underline underline-offset-2';

/** The classes of a button, for links that look like one. */
export const buttonClass = (look: Look = 'plain', small = false): string =>
  clsx(
    'inline-flex items-center justify-center gap-2 rounded-lg border font-medium whitespace-nowrap select-none transition-colors disabled:opacity-55 disabled:cursor-not-allowed',
    small ? 'min-h-8 px-2.5 text-sm' : 'min-h-10 px-4',
    looks[look],
  );

export interface ButtonProps extends ComponentProps<'button'> {
  readonly look?: Look;
  readonly small?: boolean;
  /** The action of the button is running: the button is disabled and shows a spinner. */
  readonly busy?: boolean;
  readonly icon?: ReactNode;
}

export function Button({
  look = 'plain',
  small = false,
  busy = false,
  icon,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      disabled={rest.disabled === true || busy}
      aria-busy={busy || undefined}
      className={clsx(buttonClass(look, small), className)}
    >
      {busy ? <LoaderCircle aria-hidden className="size-4 animate-spin" /> : icon}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ComponentProps<'button'>, 'children'> {
  /** The action in words, for screen readers and as the tooltip. */
  readonly label: string;
  readonly icon: ReactNode;
}

export function IconButton({ label, icon, className, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={clsx(
        'inline-flex size-9 shrink-0 items-center justify-center rounded-lg text-muted hover:bg-raised hover:text-text disabled:opacity-55',
        className,
      )}
    >
      {icon}
    </button>
  );
}

interface DownloadLinkProps {
  readonly href: string;
  /** Name of the file; default: the server's. */
  readonly file?: string;
  readonly look?: Look;
  readonly children: ReactNode;
}

export function DownloadLink({ href, file, look = 'plain', children }: DownloadLinkProps) {
  return (
    <a href={href} download={file ?? true} className={buttonClass(look, true)}>
      <Download aria-hidden className="size-4" />
      {children}
    </a>
  );
}
