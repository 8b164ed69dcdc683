import { LoaderCircle } from 'lucide-react';
import { CodeBlock, CopyButton } from '../../../ui/copy.tsx';
import { Sentence } from '../../../ui/text.tsx';
import { Failure } from '../failure.tsx';
import { AnswerFactsList } from './answer-facts.tsx';
import type { Turn } from './conversation.ts';
import { PrivacyReceipt } from './privacy-receipt.tsx';

/** One exchange: the question, the answer as it comes, and what is known of it. */
export function TurnView({ turn, isLast }: { turn: Turn; isLast: boolean }) {
  const { question, text, reasoning, state, error, facts } = turn;
  return (
    <li className="space-y-4">
      <div className="ml-auto w-fit max-w-[85%] rounded-2xl rounded-br-md bg-accent-soft px-4 py-2.5">
        <h3 className="sr-only">You asked</h3>
        <p className="break-words whitespace-pre-wrap">{question}</p>
      </div>
      <div className="space-y-3">
        <h3 className="sr-only">The answer</h3>
        {reasoning !== '' && (
          <details className="rounded-xl border border-line px-3 py-2" open={text === '' && state === 'streaming'}>
            <summary className="cursor-pointer text-sm text-muted">Reasoning</summary>
            <p className="mt-2 text-sm break-words whitespace-pre-wrap text-muted">{reasoning}</p>
          </details>
        )}
        {state === 'waiting' && (
          <p className="flex items-center gap-2 text-muted">
            <LoaderCircle aria-hidden className="size-4 animate-spin" />
            Waiting for the first token…
          </p>
        )}
        {text !== '' && <AnswerText text={text} />}
        {state === 'stopped' && <p className="text-sm text-muted">{stoppedWords(turn)}</p>}
        {state === 'failed' && <Failure error={error} />}
        {state !== 'waiting' && <AnswerFactsList facts={facts} />}
        {state !== 'waiting' && <PrivacyReceipt facts={facts} isOpen={isLast} />}
        {text !== '' && state !== 'streaming' && <CopyButton text={text} label="Copy the answer" />}
      </div>
    </li>
  );
}

/** Says what a stopped exchange costs. Until an answer comes, the page may not have sent the question. */
export const stoppedWords = ({ text, reasoning, facts }: Pick<Turn, 'text' | 'reasoning' | 'facts'>): string =>
  facts.requestId === undefined && text + reasoning === ''
    ? 'Stopped before an answer came. If your message had been sent by then, it is charged.'
    : 'Stopped. Your message and the text up to this point are charged.';

/** The text of a model, with code in blocks. It is never read as markup. */
function AnswerText({ text }: { text: string }) {
  return (
    <div className="space-y-3">
      {segmentsOf(text).map((segment, index) => {
        const key = `${String(index)} ${segment.kind}`;
        return segment.kind === 'code' ? (
          <CodeBlock key={key} code={segment.text} label={segment.language === '' ? 'Code' : segment.language} />
        ) : (
          <p key={key} className="break-words whitespace-pre-wrap">
            <Sentence text={segment.text} />
          </p>
        );
      })}
    </div>
  );
}

/** A part of an answer: running text, or a block of code between fences. */
type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'code'; readonly language: string; readonly text: string };

// Each part of the pattern is unambiguous, so that no text of a model makes it backtrack for long.
const fence = /^ {0,3}(`{3,}(?!`)|~{3,}(?!~))[ \t]*(?![ \t])([^\s`]*)(?![^\s`])[^`]*$/;

/** Splits an answer into text and fenced code. An unclosed block, as in a stream, extends to the end. */
export function segmentsOf(answer: string): readonly Segment[] {
  const segments: Segment[] = [];
  let lines: string[] = [];
  let open: { readonly marks: string; readonly language: string } | undefined;
  const close = (): void => {
    const text = lines.join('\n');
    if (open !== undefined) segments.push({ kind: 'code', language: open.language, text });
    else if (text.trim() !== '') segments.push({ kind: 'text', text: text.trim() });
    lines = [];
  };
  for (const line of answer.split('\n')) {
    const [, marks, language = ''] = fence.exec(line) ?? [];
    if (open === undefined && marks !== undefined) {
      close();
      open = { marks, language };
    } else if (open !== undefined && line.trim().startsWith(open.marks) && /^[`~]+$/.test(line.trim())) {
      close();
      open = undefined;
    } else lines.push(line);
  }
  close();
  return segments;
}
