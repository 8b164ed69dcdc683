import { Link, type LinkProps } from '@tanstack/react-router';

interface LinkCardProps extends Pick<LinkProps, 'to' | 'params'> {
  readonly title: string;
  readonly text: string;
}

/** An entry of a list that leads to another page, with a sentence about it. */
export function LinkCard({ title, text, ...link }: LinkCardProps) {
  return (
    <li>
      <Link
        {...link}
        className="block h-full rounded-xl border border-line p-4 hover:border-accent hover:bg-accent-soft"
      >
        <span className="font-medium">{title}</span>
        <span className="block text-sm text-muted">{text}</span>
      </Link>
    </li>
  );
}
