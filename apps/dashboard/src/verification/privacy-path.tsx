import clsx from 'clsx';
import { ArrowDown, ArrowRight, Building2, Cpu, KeyRound, MonitorSmartphone } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { type Way, ways } from '../pages/playground/playground-search.ts';
import { Badge, type Tone } from '../ui/badge.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { oneProcessSentence, useOneProcess } from './one-process.tsx';

/** Each privacy mode in words. */
export const wayWords: Readonly<Record<Way, { readonly label: string; readonly text: string }>> = {
  private: {
    label: 'Private flow',
    text: 'The key goes only to control, and content only to the broker, whose verdict is shown.',
  },
  e2ee: {
    label: 'End-to-end encrypted',
    text: 'Content is also encrypted for the provider’s verified enclave before it leaves this machine.',
  },
  compatibility: {
    label: 'Compatibility mode',
    text: 'Key and content go together, to a machine that is not verified.',
  },
};

const places = ['you', 'control', 'broker', 'provider'] as const;
export type Place = (typeof places)[number];

const senders: Readonly<Record<Place, string>> = { you: '', control: 'you', broker: 'you', provider: 'the broker' };

/** One box of the picture. */
interface Stop {
  /** What travels to it. Absent: nothing does. */
  readonly gets?: string;
  readonly knows: string;
}

const control: Stop = { gets: 'key', knows: 'Who you are. No content.' };

/** Who learns what in each mode. */
const pathOf: Readonly<Record<Way, Readonly<Record<Place, Stop>>>> = {
  private: {
    you: { knows: 'Your key and your content.' },
    control,
    broker: { gets: 'ticket, content', knows: 'The content. No name.' },
    provider: { gets: 'content', knows: 'The content. No name.' },
  },
  e2ee: {
    you: { knows: 'Your key and your content.' },
    control,
    broker: { gets: 'ticket, ciphertext', knows: 'Ciphertext. No name.' },
    provider: { gets: 'ciphertext', knows: 'The content, in its enclave. No name.' },
  },
  compatibility: {
    you: { knows: 'Your key and your content.' },
    control: { knows: 'Who you are. No content.' },
    broker: { gets: 'key, content', knows: 'Key and content together.' },
    provider: { gets: 'content', knows: 'The content. No name.' },
  },
};

const ticketed =
  'The broker gets a ticket that names no account. Afterwards it tells control the model, the tokens and the cost, but no content.';

/** What control and broker have in common. */
const shared: Readonly<Record<Way, string>> = {
  private: ticketed,
  e2ee: ticketed,
  compatibility: 'The broker sees both while the request runs.',
};

const titles: Readonly<Record<Place, string>> = {
  you: 'You',
  control: 'Control',
  broker: 'Broker',
  provider: 'Provider',
};
const icons = { you: MonitorSmartphone, control: KeyRound, broker: Cpu, provider: Building2 } as const;

/** The result of a check, or that there was none. */
export interface Mark {
  readonly tone: Tone;
  readonly word: string;
}

interface PrivacyPathProps {
  readonly label: string;
  readonly way: Way;
  /** Whether one process runs control and the broker. */
  readonly isOneProcess: boolean;
  /** Replaces a title, such as by the name of the provider. */
  readonly names?: Partial<Record<Place, string>>;
  readonly marks?: Partial<Record<Place, Mark>>;
  /** What each box opens to. Without it, the boxes do not open. */
  readonly evidence?: Readonly<Record<Place, ReactNode>>;
}

const at: Readonly<Record<Place, string>> = {
  you: '@xl:row-span-2 @xl:self-stretch',
  control: '@xl:col-start-2',
  broker: '@xl:col-start-2 @xl:row-start-2',
  provider: '@xl:col-start-3 @xl:row-start-2',
};

/**
 * The picture of a request: identity goes to control on one path, content to broker and provider on the other. A box with
 * evidence is a button that opens it.
 */
export function PrivacyPath({ label, way, isOneProcess, names = {}, marks = {}, evidence }: PrivacyPathProps) {
  const [opened, setOpened] = useState<Place>();
  const id = useId();
  return (
    <figure aria-label={label} className="@container space-y-3">
      <ol className="grid items-center gap-2 @xl:grid-cols-[minmax(0,0.8fr)_minmax(0,1.3fr)_minmax(0,1.3fr)]">
        {places.map((place) => {
          const { gets, knows } = pathOf[way][place];
          const mark = marks[place];
          const Icon = icons[place];
          const box = clsx(
            'flex min-h-14 w-full min-w-0 flex-1 flex-col justify-center rounded-xl border px-3 py-2 text-left text-sm',
            place === 'you' && '@xl:h-full',
            opened === place ? 'border-accent bg-accent-soft' : 'border-line bg-surface',
            gets === undefined && place !== 'you' && 'border-dashed',
          );
          const content = (
            <>
              <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
                <Icon aria-hidden className="size-4 shrink-0 text-accent" />
                <span className="min-w-0 font-medium break-words">
                  {titles[place]}
                  {names[place] !== undefined && <span className="font-normal">{`: ${names[place]}`}</span>}
                </span>
                {mark !== undefined && (
                  <span className="min-w-0 *:whitespace-normal">
                    <Badge tone={mark.tone}>{mark.word}</Badge>
                  </span>
                )}
              </span>
              <span className="block text-muted">{knows}</span>
            </>
          );
          return (
            <li key={place} className={clsx('flex min-w-0 flex-col gap-2 @xl:flex-row @xl:items-center', at[place])}>
              {place !== 'you' && (
                <span className="flex shrink-0 items-center gap-1 pl-3 text-xs text-muted @xl:w-24 @xl:flex-col @xl:pl-0 @xl:text-center">
                  {gets === undefined ? (
                    'nothing from your browser'
                  ) : (
                    <>
                      <ArrowDown aria-hidden className="size-4 @xl:hidden" />
                      <span>
                        <span className="@xl:sr-only">{`from ${senders[place]}: `}</span>
                        {gets}
                      </span>
                      <ArrowRight aria-hidden className="hidden size-4 @xl:block" />
                    </>
                  )}
                </span>
              )}
              {evidence === undefined ? (
                <div className={box}>{content}</div>
              ) : (
                <button
                  type="button"
                  aria-expanded={opened === place}
                  aria-controls={`${id}-evidence`}
                  onClick={() => setOpened(opened === place ? undefined : place)}
                  className={clsx(box, 'hover:border-line-strong')}
                >
                  {content}
                </button>
              )}
            </li>
          );
        })}
        <li
          className={clsx(
            'text-xs @xl:col-start-3 @xl:row-start-1 @xl:pl-24',
            isOneProcess ? 'text-warn' : 'text-muted',
          )}
        >
          {isOneProcess ? oneProcessSentence : shared[way]}
        </li>
      </ol>
      {evidence !== undefined && (
        <div
          id={`${id}-evidence`}
          className={clsx(opened !== undefined && 'rounded-xl border border-line p-3 text-sm')}
        >
          {opened !== undefined && evidence[opened]}
        </div>
      )}
    </figure>
  );
}

/** The same picture for each privacy mode. */
export function ThreeModes() {
  const [way, setWay] = useState<Way>('private');
  const isOneProcess = useOneProcess();
  return (
    <section className="min-w-0">
      <h2 className="mb-3 text-lg font-semibold tracking-tight">Who learns what</h2>
      <Tabs
        label="Privacy modes"
        value={way}
        onChange={setWay}
        tabs={ways.map((value) => ({
          value,
          label: wayWords[value].label,
          content: (
            <>
              <p className="mb-3 text-sm text-muted">{wayWords[value].text}</p>
              <PrivacyPath label={wayWords[value].label} way={value} isOneProcess={isOneProcess} />
            </>
          ),
        }))}
      />
    </section>
  );
}
