import { LoaderCircle } from 'lucide-react';
import { CopyButton } from '../../../ui/copy.tsx';
import { Failure } from '../failure.tsx';
import { AnswerFactsList } from './answer-facts.tsx';
import { AnswerText } from './answer-text.tsx';
import type { Turn } from './conversation.ts';

/** One exchange: the question, the answer as it comes, and what is known of it. */
export function TurnView({ turn, askedModel }: { turn: Turn; askedModel: string }) {
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
        {state === 'stopped' && (
          <p className="text-sm text-muted">Stopped. What had come until then is charged, and nothing after it.</p>
        )}
        {state === 'failed' && <Failure error={error} />}
        {state !== 'waiting' && <AnswerFactsList facts={facts} askedModel={askedModel} />}
        {text !== '' && state !== 'streaming' && <CopyButton text={text} label="Copy the answer" />}
      </div>
    </li>
  );
}
