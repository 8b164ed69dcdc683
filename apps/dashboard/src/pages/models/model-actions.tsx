import type { ModelAnswer } from '@sotto/wire';
import { Link } from '@tanstack/react-router';
import clsx from 'clsx';
import { MessageSquare } from 'lucide-react';
import { buttonClass } from '../../ui/button.tsx';
import { CopyButton } from '../../ui/copy.tsx';
import type { Mode } from '../playground/playground-search.ts';

const modes: Readonly<Record<ModelAnswer['model_type'], Mode | undefined>> = {
  text: 'chat',
  image: 'image',
  tts: 'speech',
  embedding: undefined,
};

interface ModelActionsProps {
  readonly model: ModelAnswer;
  /** Shows icons alone where there is little room. */
  readonly small?: boolean;
}

/** Copies a model's id, and opens the playground with it if the playground can ask it. */
export function ModelActions({ model: { id, model_type }, small = false }: ModelActionsProps) {
  const mode = modes[model_type];
  return (
    <>
      <CopyButton text={id} label="Copy id" iconOnly={small} />
      {mode !== undefined && (
        <Link
          to="/playground"
          search={{ model: id, ...(mode === 'chat' ? {} : { mode }) }}
          preload={false}
          title="Try in playground"
          className={clsx(
            small
              ? 'inline-flex size-8 items-center justify-center rounded-lg border border-line bg-surface hover:bg-raised'
              : buttonClass('plain', true),
          )}
        >
          <MessageSquare aria-hidden className="size-4" />
          <span className={clsx(small && 'sr-only')}>Try in playground</span>
        </Link>
      )}
    </>
  );
}
