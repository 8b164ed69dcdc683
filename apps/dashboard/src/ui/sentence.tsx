import { Fragment } from 'react';

/** A sentence of the service; what it sets between backticks is shown as code. */
export function Sentence({ text }: { text: string }) {
  const parts = text.split('`');
  return parts.map((part, index) => {
    const key = `${String(index)} ${part}`;
    // One that nothing closes is an ordinary character.
    if (index % 2 === 1 && index === parts.length - 1) return <Fragment key={key}>{`\`${part}`}</Fragment>;
    return index % 2 === 1 ? (
      <code key={key} className="rounded bg-raised px-1 font-mono text-[0.9em] break-words">
        {part}
      </code>
    ) : (
      <Fragment key={key}>{part}</Fragment>
    );
  });
}
