import { Download } from 'lucide-react';
import { formatCount } from '../../../format/numbers.ts';
import { makeTabState } from '../../../session/tab-state.ts';
import { buttonClass } from '../../../ui/button.tsx';
import { TextAreaField, TextField } from '../../../ui/field.tsx';
import { Skeleton } from '../../../ui/skeleton.tsx';
import { Card } from '../../../ui/surface.tsx';
import { AnswerFactsList } from '../chat/answer-facts.tsx';
import { Failure } from '../failure.tsx';
import { type MediaPanelProps, SendRow } from './image-panel.tsx';
import { mostSpeechCharacters, speechPriceText } from './media-rules.ts';
import { useMedia } from './use-media.ts';

const wish = makeTabState({ text: '', voice: '' });

/** A text as speech, by ticket. The format is MP3: the service offers no other. */
export function SpeechPanel({ model, open, obstacle }: MediaPanelProps) {
  const { text, voice } = wish.use();
  const change = (part: { text?: string; voice?: string }): void => wish.update((before) => ({ ...before, ...part }));
  const { ask, stop, isRunning, isStopped, error, made } = useMedia(open);
  const { length } = text;
  const isTooLong = length > mostSpeechCharacters;
  return (
    <Card title="Speech" lead={speechPriceText(model, length)}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          const asked = { model: model.id, input: text, response_format: 'mp3' };
          const body = voice.trim() === '' ? asked : { ...asked, voice: voice.trim() };
          ask({ path: '/audio/speech', body, read: (answer) => answer.blob() });
        }}
      >
        <TextAreaField
          label="Text to speak"
          rows={5}
          value={text}
          hint={`${formatCount(length)} of ${formatCount(mostSpeechCharacters)} characters. MP3.`}
          error={isTooLong ? `At most ${formatCount(mostSpeechCharacters)} characters.` : undefined}
          onChange={(event) => change({ text: event.target.value })}
        />
        <TextField
          label="Voice"
          placeholder="The provider’s own"
          className="max-w-xs"
          maxLength={128}
          value={voice}
          onChange={(event) => change({ voice: event.target.value })}
        />
        <SendRow
          action="Speak"
          isRunning={isRunning}
          canSend={text !== '' && !isTooLong}
          obstacle={obstacle}
          onStop={stop}
        />
      </form>
      <div className="mt-5 space-y-3" aria-live="polite">
        {isRunning && <Skeleton className="h-14 w-full max-w-md" />}
        {isStopped && <p className="text-sm text-muted">Stopped. Before the first byte of audio it is free.</p>}
        {error !== null && <Failure error={error} />}
        {made !== undefined && (
          <>
            {/* biome-ignore lint/a11y/useMediaCaption: what is spoken stands in the field above */}
            <audio controls src={made.url} aria-label="Speech" className="w-full max-w-md" />
            <AnswerFactsList facts={made.facts} askedModel={model.id} />
            <a href={made.url} download="speech.mp3" className={buttonClass('plain', true)}>
              <Download aria-hidden className="size-4" />
              Download
            </a>
          </>
        )}
      </div>
    </Card>
  );
}
