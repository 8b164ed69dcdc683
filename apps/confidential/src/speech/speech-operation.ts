import type { Route } from '@sotto/router';
import { readJsonBody } from '@sotto/server';
import type { SpeechRequest } from '@sotto/wire';
import { beginFlowing } from '../attempts/begin-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import type { Operation } from '../inference/operation.ts';
import { type Served, servedAtFlatPrice } from '../settlement/served.ts';
import { AudioAttempt } from './audio-attempt.ts';
import { readSpeechQuestion, type SpeechQuestion } from './speech-question.ts';

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
        lastFrames: () => undefined,
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
