import type { ImagesAnswer, ModelAnswer } from '@sotto/wire';
import { Download } from 'lucide-react';
import { makeTabState } from '../../../session/tab-state.ts';
import { Button, buttonClass } from '../../../ui/button.tsx';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.tsx';
import { Skeleton } from '../../../ui/skeleton.tsx';
import { Card } from '../../../ui/surface.tsx';
import { AnswerFactsList } from '../chat/answer-facts.tsx';
import { Failure } from '../failure.tsx';
import type { OpenWay } from '../open-way.ts';
import { imagePriceText, isImageSize } from './media-rules.ts';
import { useMedia } from './use-media.ts';

export interface MediaPanelProps {
  readonly model: ModelAnswer;
  readonly open: () => Promise<OpenWay>;
  /** Why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

const sizes = ['1024x1024', '512x512', '1024x1536', '1536x1024', '2048x2048'] as const;
const other = 'other';

const wish = makeTabState({ prompt: '', size: '1024x1024' });

/** One image by ticket. */
export function ImagePanel({ model, open, obstacle }: MediaPanelProps) {
  const { prompt, size } = wish.use();
  const change = (part: { prompt?: string; size?: string }): void => wish.update((before) => ({ ...before, ...part }));
  const { ask, stop, isRunning, isStopped, error, made } = useMedia(open);
  const isListed = sizes.some((one) => one === size);
  const sizeProblem = isImageSize(size) ? undefined : 'WIDTHxHEIGHT, each from 128 to 2048, such as 1024x1024.';
  return (
    <Card title="Image" lead={imagePriceText(model)}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          ask({ path: '/images/generations', body: { model: model.id, prompt, size }, read: imageOf });
        }}
      >
        <TextAreaField
          label="What should it show?"
          maxLength={32_000}
          value={prompt}
          onChange={(event) => change({ prompt: event.target.value })}
        />
        <div className="flex flex-wrap gap-3">
          <SelectField
            label="Size"
            value={isListed ? size : other}
            choices={[
              ...sizes.map((one) => ({ value: one, label: one.replace('x', ' × ') })),
              { value: other, label: 'Another size' },
            ]}
            onChange={(chosen) => change({ size: chosen === other ? '768x768' : chosen })}
          />
          {!isListed && (
            <TextField
              label="Width and height"
              value={size}
              error={sizeProblem}
              onChange={(event) => change({ size: event.target.value })}
            />
          )}
        </div>
        <SendRow
          action="Make the image"
          isRunning={isRunning}
          canSend={prompt.trim() !== '' && sizeProblem === undefined}
          obstacle={obstacle}
          onStop={stop}
        />
      </form>
      <div className="mt-5 space-y-3" aria-live="polite">
        {isRunning && <Skeleton className="aspect-square w-full max-w-md" />}
        {isStopped && <p className="text-sm text-muted">Stopped. An image that is not there yet is free.</p>}
        {error !== null && <Failure error={error} />}
        {made !== undefined && (
          <>
            <img src={made.url} alt={prompt} className="w-full max-w-xl rounded-xl border border-line" />
            <AnswerFactsList facts={made.facts} askedModel={model.id} />
            <a href={made.url} download="image" className={buttonClass('plain', true)}>
              <Download aria-hidden className="size-4" />
              Download
            </a>
          </>
        )}
      </div>
    </Card>
  );
}

/** The button, why it cannot be pressed, and the way to stop. */
export function SendRow({
  action,
  isRunning,
  canSend,
  obstacle,
  onStop,
}: {
  readonly action: string;
  readonly isRunning: boolean;
  readonly canSend: boolean;
  readonly obstacle: string | undefined;
  readonly onStop: () => void;
}) {
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button type="submit" look="primary" busy={isRunning} disabled={!canSend || obstacle !== undefined}>
        {action}
      </Button>
      {isRunning && <Button onClick={onStop}>Stop</Button>}
      {obstacle !== undefined && <p className="text-sm text-muted">{obstacle}</p>}
    </div>
  );
}

async function imageOf(answer: Response): Promise<Blob> {
  const { data } = (await answer.json()) as ImagesAnswer;
  const [image] = data;
  if (image === undefined) throw new Error('the answer holds no image');
  const bytes = Uint8Array.from(atob(image.b64_json), (character) => character.charCodeAt(0));
  return new Blob([bytes], { type: image.mime_type });
}
