import type { ImagesAnswer, ModelAnswer } from '@sotto/wire';
import { type ReactNode, useEffect, useRef } from 'react';
import { refusalOf } from '../../../api/errors.ts';
import { useChange } from '../../../api/use-change.ts';
import { formatCount, formatPrice, formatUsd } from '../../../format/format.ts';
import { makeTabState } from '../../../session/tab-state.ts';
import { Button, DownloadLink } from '../../../ui/button.tsx';
import { SelectField, TextAreaField, TextField } from '../../../ui/field.tsx';
import { Card, Skeleton } from '../../../ui/surface.tsx';
import { lowest } from '../../models/figures.ts';
import { AnswerFactsList } from '../chat/answer-facts.tsx';
import type { RequestBody } from '../chat/chat-settings.ts';
import { type AnswerFacts, factsOf } from '../chat/conversation.ts';
import { PrivacyReceipt } from '../chat/privacy-receipt.tsx';
import { readError } from '../chat/read-stream.ts';
import { ConsentButton } from '../consent-button.tsx';
import { Failure } from '../failure.tsx';
import type { MediaPath, OpenWay } from '../open-way.ts';
import { ScriptNote } from '../script-note.tsx';
import { useSurroundings } from '../surroundings.ts';

interface MediaPanelProps {
  readonly model: ModelAnswer;
  readonly open: () => Promise<OpenWay>;
  /** The reason why nothing can be sent now. */
  readonly obstacle: string | undefined;
}

const sizes = ['1024x1024', '512x512', '1024x1536', '1536x1024', '2048x2048'] as const;
const other = 'other';

const imageWish = makeTabState({ prompt: '', size: '1024x1024' });

/** One image by ticket. */
export function ImagePanel({ model, open, obstacle }: MediaPanelProps) {
  const { prompt, size } = imageWish.use();
  const change = (part: { prompt?: string; size?: string }): void =>
    imageWish.update((before) => ({ ...before, ...part }));
  const asked = useMedia(open);
  const isListed = sizes.some((one) => one === size);
  const sizeProblem = isImageSize(size) ? undefined : 'WIDTHxHEIGHT, each from 128 to 2048, such as 1024x1024.';
  return (
    <Card title="Image" lead={imagePriceText(model)}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          asked.ask({ path: '/images/generations', body: { model: model.id, prompt, size }, read: imageOf });
        }}
      >
        <TextAreaField
          label="What should it show?"
          maxLength={32_000}
          value={prompt}
          onChange={(event) => change({ prompt: event.target.value })}
        />
        <ScriptNote className="-mt-2" />
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
          action="Generate image"
          asked={asked}
          canSend={prompt.trim() !== '' && sizeProblem === undefined}
          obstacle={obstacle}
        />
      </form>
      <MediaAnswer
        asked={asked}
        pending={<Skeleton className="aspect-square w-full max-w-md" />}
        stopped="Stopped. It is free if the image was not complete yet, unless stopped requests of this hour cost more than $0.10."
        file="image"
      >
        {(url) => <img src={url} alt={prompt} className="w-full max-w-xl rounded-xl border border-line" />}
      </MediaAnswer>
    </Card>
  );
}

interface SendRowProps {
  readonly action: string;
  readonly asked: MediaQuestions;
  readonly canSend: boolean;
  readonly obstacle: string | undefined;
}

/** The submit button, the reason if it is disabled, and a button to stop. */
function SendRow({ action, asked: { isRunning, stop }, canSend, obstacle }: SendRowProps) {
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button type="submit" look="primary" busy={isRunning} disabled={!canSend || obstacle !== undefined}>
        {action}
      </Button>
      {isRunning && <Button onClick={stop}>Stop</Button>}
      {obstacle !== undefined && <p className="text-sm text-muted">{obstacle}</p>}
      <ConsentButton obstacle={obstacle} />
    </div>
  );
}

interface MediaAnswerProps {
  readonly asked: MediaQuestions;
  /** Shown until the file is there. */
  readonly pending: ReactNode;
  /** The sentence after the user stopped. */
  readonly stopped: string;
  /** Name of the file when it is downloaded. */
  readonly file: string;
  readonly children: (url: string) => ReactNode;
}

/** The result of the last request: the file and its facts, or the error. */
function MediaAnswer({ asked, pending, stopped, file, children }: MediaAnswerProps) {
  const { isRunning, isStopped, error, made } = asked;
  return (
    <div className="mt-5 space-y-3" aria-live="polite">
      {isRunning && pending}
      {isStopped && <p className="text-sm text-muted">{stopped}</p>}
      {error !== null && <Failure error={error} />}
      {made !== undefined && (
        <>
          {children(made.url)}
          <AnswerFactsList facts={made.facts} />
          <PrivacyReceipt facts={made.facts} isOpen />
          <DownloadLink href={made.url} file={file}>
            Download
          </DownloadLink>
        </>
      )}
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

const speechWish = makeTabState({ text: '', voice: '' });

/** A text as speech, by ticket. The format is MP3: the service offers no other. */
export function SpeechPanel({ model, open, obstacle }: MediaPanelProps) {
  const { text, voice } = speechWish.use();
  const change = (part: { text?: string; voice?: string }): void =>
    speechWish.update((before) => ({ ...before, ...part }));
  const asked = useMedia(open);
  const { length } = text;
  const isTooLong = length > mostSpeechCharacters;
  return (
    <Card title="Speech" lead={speechPriceText(model, length)}>
      <form
        className="space-y-4"
        onSubmit={(event) => {
          event.preventDefault();
          const speech = { model: model.id, input: text, response_format: 'mp3' };
          const body = voice.trim() === '' ? speech : { ...speech, voice: voice.trim() };
          asked.ask({ path: '/audio/speech', body, read: (answer) => answer.blob() });
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
        <ScriptNote className="-mt-2" />
        <TextField
          label="Voice"
          placeholder="The provider’s own"
          className="max-w-xs"
          maxLength={128}
          value={voice}
          onChange={(event) => change({ voice: event.target.value })}
        />
        <SendRow action="Speak" asked={asked} canSend={text !== '' && !isTooLong} obstacle={obstacle} />
      </form>
      <MediaAnswer
        asked={asked}
        pending={<Skeleton className="h-14 w-full max-w-md" />}
        stopped="Stopped. It is free if no audio had arrived, unless stopped requests of this hour cost more than $0.10."
        file="speech.mp3"
      >
        {(url) => (
          // biome-ignore lint/a11y/useMediaCaption: the field above shows what is spoken
          <audio controls src={url} aria-label="Speech" className="w-full max-w-md" />
        )}
      </MediaAnswer>
    </Card>
  );
}

/** The most characters of one speech request, in UTF-16 code units. */
export const mostSpeechCharacters = 20_000;

/** Whether a text is `WIDTHxHEIGHT`, each from 128 to 2048. */
export function isImageSize(text: string): boolean {
  const [, width, height] = /^([1-9]\d{2,3})x([1-9]\d{2,3})$/.exec(text) ?? [];
  return [width, height].every((side) => Number(side) >= 128 && Number(side) <= 2048);
}

/** The price of an image, at the cheapest route of a model. */
export function imagePriceText({ provider_routes: routes }: ModelAnswer): string {
  const price = lowest(routes, 'image');
  if (price === undefined) return '';
  return `${routes.length > 1 ? 'From ' : ''}${formatPrice(price)} an image.`;
}

/** The price of speech for a number of characters, at the cheapest route of a model. */
export function speechPriceText({ provider_routes: routes }: ModelAnswer, characters: number): string {
  const price = lowest(routes, 'input_characters');
  if (price === undefined) return '';
  const listed = `${formatPrice(price)} per million characters`;
  return characters === 0 ? `${listed}.` : `${listed}: ${formatUsd((price * characters) / 1_000_000)} for this text.`;
}

interface Made {
  /** A `blob:` address, good until the next request, and while the panel is open. */
  readonly url: string;
  readonly facts: AnswerFacts;
}

interface MediaQuestion {
  readonly path: MediaPath;
  readonly body: RequestBody;
  /** Takes the file out of the answer. */
  readonly read: (answer: Response) => Promise<Blob>;
}

/** Requests one image or one piece of speech by ticket, and keeps the file until the next request. */
function useMedia(open: () => Promise<OpenWay>) {
  const controller = useRef<AbortController>(undefined);
  const { onCharged } = useSurroundings();
  const asking = useChange({
    mutationFn: async ({ path, body, read }: MediaQuestion): Promise<Made> => {
      const startedAt = performance.now();
      controller.current = new AbortController();
      const way = await open();
      const answer = await way.send(path, body, controller.current.signal);
      if (!answer.ok) throw await refusalOf(answer);
      const headers = factsOf(answer.headers);
      const vouched = await way.vouched({ ...headers, model: body.model });
      const facts = { way: 'private', askedModel: body.model, ...headers, ...vouched } as const;
      const file = await read(answer).catch((error: unknown) => {
        throw readError(error);
      });
      const url = URL.createObjectURL(file);
      return { url, facts: { ...facts, totalMs: performance.now() - startedAt } };
    },
    onSettled: onCharged,
  });
  const url = asking.data?.url;
  useEffect(() => {
    if (url === undefined) return;
    return () => URL.revokeObjectURL(url);
  }, [url]);
  const isStopped = asking.isError && controller.current?.signal.aborted === true;
  return {
    ask: (question: MediaQuestion) => asking.mutate(question),
    stop: () => controller.current?.abort(),
    isRunning: asking.isPending,
    isStopped,
    error: isStopped ? null : asking.error,
    made: asking.data,
  };
}

/** What `useMedia` returns. */
type MediaQuestions = ReturnType<typeof useMedia>;
