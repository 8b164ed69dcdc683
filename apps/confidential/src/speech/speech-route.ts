import { readJsonBody } from '@sotto/http';
import { holdOf, noNeeds, noTokens, planRequest, speechBounds } from '@sotto/router';
import { parseRequest, type SpeechRequest, speechRequestSchema, speechSettings } from '@sotto/wire';
import type { FastifyInstance } from 'fastify';
import type { AdmissionQuestion } from '../admission/admit.ts';
import { credentialFirst } from '../admission/credential-first.ts';
import type { InferenceDependencies } from '../deps.ts';
import { InferenceRequest } from '../inference-request.ts';
import type { ProviderSet } from '../providers/provider-set.ts';
import { serveSpeech } from './serve-speech.ts';

interface SpeechQuestion extends AdmissionQuestion {
  readonly speech: SpeechRequest;
}

/** `POST /v1/audio/speech`, by ticket only. */
export function registerSpeech(app: FastifyInstance, deps: InferenceDependencies): void {
  app.post('/v1/audio/speech', credentialFirst(deps, 'speech'), async (request, reply) => {
    const read = (): SpeechQuestion => readSpeechQuestion(readJsonBody(request.body), deps.providers);
    await InferenceRequest.run(deps, 'speech', { request, reply }, read, (inference, question) =>
      serveSpeech(inference, question.speech),
    );
    return reply;
  });
}

function readSpeechQuestion(body: object, providers: ProviderSet): SpeechQuestion {
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
    totalMs: (first) => providers.get(first.providerId)?.entry.timeouts.total_ms ?? 600_000,
  };
}
