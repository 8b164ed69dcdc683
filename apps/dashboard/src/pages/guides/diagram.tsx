import clsx from 'clsx';
import { Fragment } from 'react';

/** Names of boxes may have several lines, which end with `<br/>`. */
interface Arrow {
  readonly from: string;
  readonly to: string;
  readonly label: string;
  readonly isDashed: boolean;
  readonly hasHead: boolean;
}

interface Diagram {
  /** The arrows follow each other in time. */
  readonly isSequence: boolean;
  readonly groups: readonly { readonly title: string; readonly boxes: readonly string[] }[];
  readonly arrows: readonly Arrow[];
}

const participant = /^participant (\w+) as (.+)$/;
const message = /^(\w+)(--?>>)(\w+): (.+)$/;
const transition = /^(\[\*\]|\w+) (-->) (\[\*\]|\w+)(?:: (.+))?$/;
const subgraph = /^subgraph \w+ \["?(.+?)"?\]$/;
const box = /^(\w+)(?:\(\((.+?)\)\)|\[\((.+?)\)\]|\["?(.+?)"?\]|\{(.+?)\})?/;
const link = /^\s*(?:-->\|(.+?)\||-- "?(.+?)"? -->|-\. "?(.+?)"? \.->|-->|---)\s*/;

/** Reads the part of Mermaid's language that our guides use: flowcharts, sequences and states. Throws at anything else. */
export function readDiagram(source: string): Diagram {
  const [kind = '', ...lines] = source.split('\n').map((line) => line.trim());
  const names = new Map<string, string>();
  const arrows: Arrow[] = [];
  const groups: { title: string; boxes: string[] }[] = [];
  let group: { boxes: string[] } | undefined;
  const connect = (from = '', shape = '', to = '', label = ''): void => {
    const isDashed = shape === '-->>' || shape.startsWith('-.');
    arrows.push({ from, to, label, isDashed, hasHead: shape !== '---' });
  };
  /** Boxes and the arrows between them: `a[A] --> b[B] --> c`. */
  const readChain = (line: string): void => {
    let rest = line;
    let before: Parameters<typeof connect> | undefined;
    do {
      const [whole = '', id = '', ...texts] = box.exec(rest) ?? [];
      const name = texts.find((text) => text !== undefined);
      if (name !== undefined || !names.has(id)) names.set(id, name ?? id);
      group?.boxes.push(id);
      if (before !== undefined) connect(before[0], before[1], id, before[3]);
      const [joint = '', ...labels] = link.exec(rest.slice(whole.length)) ?? [];
      if (whole === '' || (joint === '' && rest !== whole)) throw new Error(`not a diagram: ${line}`);
      before = [id, joint.trim(), undefined, labels.find((text) => text !== undefined)];
      rest = rest.slice(whole.length + joint.length);
    } while (rest !== '');
  };
  for (const line of lines) {
    const [, id = '', name = ''] = participant.exec(line) ?? [];
    const [, title] = subgraph.exec(line) ?? [];
    const step = (kind === 'sequenceDiagram' ? message : transition).exec(line);
    if (id !== '') names.set(id, name);
    else if (title !== undefined) {
      const begun = { title, boxes: [] };
      groups.push(begun);
      group = begun;
    } else if (line === 'end') group = undefined;
    else if (kind.startsWith('flowchart')) readChain(line);
    else if (step === null) throw new Error(`not a diagram: ${line}`);
    else connect(step[1]?.replace('[*]', 'Start'), step[2], step[3]?.replace('[*]', 'End'), step[4]);
  }
  const named = (id: string): string => names.get(id) ?? id;
  return {
    isSequence: kind === 'sequenceDiagram',
    groups: groups.map(({ title, boxes }) => ({ title, boxes: boxes.map(named) })),
    arrows: arrows.map((arrow) => ({ ...arrow, from: named(arrow.from), to: named(arrow.to) })),
  };
}

/** Draws a diagram as its arrows, one below the other, each between its two boxes. It fits a phone and is read aloud. */
export function DiagramView({ source }: { source: string }) {
  const { isSequence, groups, arrows } = readDiagram(source);
  const List = isSequence ? 'ol' : 'ul';
  return (
    <figure className="max-w-3xl space-y-4 rounded-xl border border-line bg-surface p-4 text-sm">
      {groups.length > 0 && (
        <dl className="grid gap-3 sm:grid-cols-2">
          {groups.map(({ title, boxes }) => (
            <div key={title} className="rounded-lg bg-raised p-3">
              <dt className="mb-2 font-medium">{title}</dt>
              <dd className="flex flex-wrap gap-2">
                {boxes.map((name) => (
                  <Box key={name} name={name} />
                ))}
              </dd>
            </div>
          ))}
        </dl>
      )}
      <List className="space-y-2">
        {arrows.map((arrow, place) => (
          <li
            key={`${arrow.from} ${arrow.to} ${arrow.label}`}
            className="grid grid-cols-[minmax(0,1.6fr)_minmax(0,1fr)_minmax(0,1.6fr)] sm:grid-cols-[minmax(0,1fr)_minmax(0,1.5fr)_minmax(0,1fr)] items-center gap-1.5"
          >
            <Box name={arrow.from} />
            <Line {...arrow} label={isSequence ? `${place + 1}. ${arrow.label}` : arrow.label} />
            <Box name={arrow.to} />
          </li>
        ))}
      </List>
    </figure>
  );
}

function Box({ name }: { name: string }) {
  const [first, ...more] = name.split('<br/>');
  return (
    <span className="block rounded-lg border border-line-strong bg-surface px-1 py-1 text-center break-words sm:px-2">
      {first}
      {more.map((line) => (
        <Fragment key={line}>
          {' '}
          <span className="block text-xs text-muted">{line}</span>
        </Fragment>
      ))}
    </span>
  );
}

function Line({ label, isDashed, hasHead }: Arrow) {
  return (
    <span className="block text-center text-xs text-muted">
      {label === '' ? <span className="sr-only">{hasHead ? ' leads to ' : ' uses '}</span> : ` ${label} `}
      <span aria-hidden className="mt-0.5 flex items-center">
        <span className={clsx('h-0 flex-1 border-t border-muted', isDashed && 'border-dashed')} />
        {hasHead && <span className="size-0 border-y-4 border-l-6 border-y-transparent border-l-muted" />}
      </span>
    </span>
  );
}
