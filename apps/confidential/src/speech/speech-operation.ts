import type { SpeechAdapter, UpstreamHeaders } from '@sotto/providers';
import { holdOf, noNeeds, noTokens, planRequest, type Route, speechBounds } from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import { parseRequest, type SpeechRequest, speechRequestSchema, speechSettings } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { beginFlowing } from '../attempts/begin-attempt.ts';
import { FlowingAttempt, type FlowingAttemptOptions } from '../attempts/flowing-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import type { Operation } from '../inference/operation.ts';
import { type Served, servedAtFlatPrice } from '../settlement/served.ts';

interface SpeechQuestion extends AdmissionQuestion {
  readonly speech: SpeechRequest;
}

/**
 * Audio comes in pieces that fill a buffer each, so short pauses are normal between any two networks. They must not
 * turn a provider's failure into the client's. After a pause this long, a provider may give up because of its client.
 */
const heldBackFromMs = 1_000;

/** Speech: raw audio, passed on as it comes. */
export const speechOperation: Operation<SpeechQuestion> = {
  name: 'speech',
  ticketOnly: 'Speech synthesis',
  read: ({ body }) => readSpeechQuestion(readJsonBody(body)),
  attempt({ speech }, { route, provider: { adapter, upstream, entry }, limits }) {
    const api = adapter.speech;
    if (api === undefined) {
      return unsupportedAttempt({ unsupported: 'The provider of this model speaks no text.', param: 'model' });
    }
    const target = { upstreamModel: route.upstreamModel, defaultVoice: entry.request.default_voice };
    return beginFlowing({
      upstream,
      request: api.request(speech, target),
      open: (onStart) => new AudioAttempt({ adapter, speech: api, limits, onStart }),
      success: (attempt) => ({
        stream: { attempt, contentType: 'audio/mpeg', heldBackFromMs },
        served: () => spoken(speech, route),
        lastFrames: (end) => (end === 'complete' ? undefined : 'break_off'),
        // Audio has no tokens, so its speed cannot be measured in them.
        measured: ({ end, tookMs, flowMs, heldBackMs }) => ({
          ...{ kind: 'streamed', end, ttftMs: tookMs, flowMs, heldBackMs },
          output: { tokens: undefined, reasoningTokens: 0, bytes: 0 },
        }),
      }),
    });
  },
  abandoned: ({ speech }, { route }) => spoken(speech, route),
};

/**
 * Charge for the whole text. The provider takes it at once, and how much of it the audio has spoken so far is unknown.
 */
const spoken = ({ input }: SpeechRequest, route: Route): Served =>
  servedAtFlatPrice(route, { inputCharacters: input.length });

function readSpeechQuestion(body: object): SpeechQuestion {
  const speech = parseRequest(speechRequestSchema, body);
  const { model, provider, input, voice, response_format } = speech;
  const needs = noNeeds('tts');
  const media = speechSettings({ voice, response_format, input_chars: input.length });
  return {
    speech,
    needs,
    size: noTokens,
    bindings: { operation: 'speech', model, provider, reasoning: {}, media },
    plan: (context) => planRequest(speech, needs, context),
    holdOf: (attempts) => holdOf(attempts, noTokens, () => speechBounds(input.length)),
    bounds: () => speechBounds(input.length),
    // The text is short: the contract allows 4096 characters.
    forget() {},
  };
}

interface AudioAttemptOptions extends FlowingAttemptOptions {
  readonly speech: SpeechAdapter;
}

/** The longest text at the highest bit rate of the format takes a quarter of this. */
const maxAudioBytes = 256 * 1024 * 1024;
/** The most that is read of an answer that is not audio, to classify it. */
const maxOtherBytes = 64 * 1024;

/** An attempt that wants raw audio. Its first byte is output. From there on it is passed on as it comes. */
class AudioAttempt extends FlowingAttempt {
  readonly #speech: SpeechAdapter;
  #bytes = 0;
  /** The body of an answer that is not audio. */
  #other: Buffer[] | undefined;

  constructor(options: AudioAttemptOptions) {
    super(options);
    this.#speech = options.speech;
  }

  protected override onSuccess({ contentType, isDelimited }: UpstreamHeaders): void {
    if (!this.#speech.isAudio(contentType)) this.#other = [];
    // Raw audio has no closing words. Without a length or chunks, a truncated answer would pass for whole.
    else if (!isDelimited) this.giveUp('malformed_answer');
  }

  protected override onAnswerBytes(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#other !== undefined) {
      this.#other.push(bytes);
      if (this.#bytes > maxOtherBytes) this.giveUp('malformed_answer');
      return;
    }
    if (this.#bytes > maxAudioBytes) {
      this.giveUp('malformed_answer');
      return;
    }
    this.outlet.write(bytes);
    if (this.hasStarted) {
      this.heard();
      return;
    }
    this.awaitMore();
    this.begin();
  }

  protected override onAnswerEnd(): void {
    if (this.#other !== undefined) this.onBroken(this.#speech.classifyBody(Buffer.concat(this.#other)));
    else if (!this.hasStarted) this.onBroken('malformed_answer');
    else {
      this.finish();
      this.outlet.end('complete');
    }
  }
}
