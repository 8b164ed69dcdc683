import { useState } from 'react';
import { CodeBlock } from '../ui/copy.tsx';
import { SelectField } from '../ui/field.tsx';
import { Tabs } from '../ui/tabs.tsx';
import type { Snippet } from './snippet.ts';

const storageKey = 'sotto.snippet';
const otherTab = 'other';

/** Snippets in tabs. The browser remembers which one the reader chose. */
export function SnippetTabs({ snippets }: { snippets: readonly Snippet[] }) {
  const [chosen, setChosen] = useState(() => localStorage.getItem(storageKey));
  const choose = (id: string): void => {
    localStorage.setItem(storageKey, id);
    setChosen(id);
  };
  const others = snippets.filter(({ isOther }) => isOther === true);
  const shown = snippets.find(({ id }) => id === chosen) ?? snippets[0];
  const [firstOther] = others;
  const shownOther = shown?.isOther === true ? shown : firstOther;
  return (
    <Tabs
      label="Tools"
      value={shown?.isOther === true ? otherTab : (shown?.id ?? '')}
      onChange={(tab) => choose(tab === otherTab && firstOther !== undefined ? firstOther.id : tab)}
      tabs={[
        ...snippets
          .filter(({ isOther }) => isOther !== true)
          .map((snippet) => ({ value: snippet.id, label: snippet.name, content: <Shown snippet={snippet} /> })),
        ...(shownOther === undefined
          ? []
          : [
              {
                value: otherTab,
                label: 'More tools',
                content: (
                  <>
                    <SelectField
                      label="Tool"
                      className="mb-3 max-w-xs"
                      value={shownOther.id}
                      choices={others.map(({ id, name }) => ({ value: id, label: name }))}
                      onChange={choose}
                    />
                    <Shown snippet={shownOther} />
                  </>
                ),
              },
            ]),
      ]}
    />
  );
}

function Shown({ snippet: { name, text, code } }: { snippet: Snippet }) {
  return (
    <div className="space-y-3">
      <p className="text-sm wrap-anywhere text-muted">{text}</p>
      <CodeBlock code={code} label={name} />
    </div>
  );
}
