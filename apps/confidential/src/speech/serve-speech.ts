import type { Route } from '@sotto/router';
import type { SpeechRequest } from '@sotto/wire';
import { breakOff } from '../answers/break-off.ts';
import { requestEnds, streamToClient } from '../answers/stream-to-client.ts';
import { AudioAttempt } from '../attempts/audio-attempt.ts';
import type { StreamStart } from '../attempts/flowing-attempt.ts';
import { unsupportedAttempt } from '../attempts/try-routes.ts';
import type { InferenceRequest } from '../inference-request.ts';
import { servedAtFlatPrice } from '../settlement/flat-usage.ts';
import type { Served } from '../settlement/request-settlement.ts';

/** Audio has no tokens, and so no speed in them. */
const noTokens = { tokens: undefined, reasoningTokens: 0, bytes: 0 } as const;

type Started = { readonly ok: true; readonly success: AudioAttempt } | Extract<StreamStart, { ok: false }>;

/**
 * Audio comes in pieces that fill a buffer each, so that short pauses are how any two networks meet: they must not make
 * a provider's failure the client's. One that waits this long may give up because of its client.
 */
const heldBackFromMs = 1_000;

/** Serves speech: raw audio, passed on as it comes. */
export async function serveSpeech(inference: InferenceRequest, speech: SpeechRequest): Promise<void> {
  // The provider takes the whole text at once, and how much of it the audio speaks so far is unknown.
  const served = ({ route }: { readonly route: Route }): Served =>
    servedAtFlatPrice(route, { inputCharacters: speech.input.length });
  const tried = await inference.try<AudioAttempt>((route, provider, hasSuccessor) => {
    const { adapter, upstream, entry } = provider;
    const api = adapter.speech;
    if (api === undefined) {
      return unsupportedAttempt({ unsupported: 'The provider of this model speaks no text.', param: 'model' });
    }
    let attempt: AudioAttempt | undefined;
    const result = new Promise<Started>((resolve) => {
      const begun = new AudioAttempt({
        adapter,
        speech: api,
        limits: inference.limitsOf(entry.timeouts, hasSuccessor),
        onStart: (start) => resolve(start.ok ? { ok: true, success: begun } : start),
      });
      attempt = begun;
      const target = { upstreamModel: route.upstreamModel, defaultVoice: entry.request.default_voice };
      begun.start(upstream, api.request(speech, target));
    });
    return { result, abort: () => attempt?.abort() };
  }, served);
  if (tried === undefined) return;

  const { route, tookMs, success: attempt } = tried;
  const flow = await streamToClient(inference, { route, attempt, contentType: 'audio/mpeg', heldBackFromMs });
  const { end } = flow;
  await inference.settlement.settle(requestEnds[end], served(tried));
  const { response } = inference.client;
  if (end === 'complete') response.end();
  else if (end !== 'client_left') breakOff(response);
  inference.measure(route, { kind: 'streamed', ...flow, ttftMs: tookMs, output: noTokens });
  inference.logged(200, route, end === 'complete' ? undefined : end);
}
