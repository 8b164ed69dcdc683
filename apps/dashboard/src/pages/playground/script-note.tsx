import clsx from 'clsx';
import { useSurroundings } from './surroundings.ts';

/** Says where the script comes from that could read what the user types. */
export function ScriptNote({ className }: { className?: string }) {
  return <p className={clsx('text-sm text-muted', className)}>{useSurroundings().scriptNote}</p>;
}
