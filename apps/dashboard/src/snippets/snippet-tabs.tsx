import { useState } from 'react';
import { CodeBlock } from '../ui/copy.tsx';
import { Tabs } from '../ui/tabs.tsx';

/** Something to copy, in one language. */
export interface Snippet {
  readonly id: string;
  readonly name: string;
  /** What it shows, and what it keeps apart. */
  readonly text: string;
  readonly code: string;
}

/** Ways to ask, one at a time. */
export function SnippetTabs({ snippets }: { snippets: readonly Snippet[] }) {
  const [shown, setShown] = useState(snippets[0]?.id ?? '');
  return (
    <Tabs
      label="Ways to ask"
      value={shown}
      onChange={setShown}
      tabs={snippets.map(({ id, name, text, code }) => ({
        value: id,
        label: name,
        content: (
          <div className="space-y-3">
            <p className="text-sm text-muted">{text}</p>
            <CodeBlock code={code} label={name} />
          </div>
        ),
      }))}
    />
  );
}
