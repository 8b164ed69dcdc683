import { CodeBlock } from '../../../ui/copy.tsx';
import { Sentence } from '../../../ui/sentence.tsx';
import { segmentsOf } from './text-segments.ts';

/** What a model wrote: text as it is, code in blocks. Nothing in it is taken for markup. */
export function AnswerText({ text }: { text: string }) {
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
