import { holdOf, noNeeds, noTokens, planRequest, speechBounds } from '@sotto/router';
import { parseRequest, type SpeechRequest, speechRequestSchema, speechSettings } from '@sotto/wire';
import type { AdmissionQuestion } from '../admission/admit.ts';

export interface SpeechQuestion extends AdmissionQuestion {
  readonly speech: SpeechRequest;
}

/** Reads the body of `POST /audio/speech` for admission and the attempts. Throws if it is invalid. */
export function readSpeechQuestion(body: object): SpeechQuestion {
  const speech = parseRequest(speechRequestSchema, body);
  const { model, provider, input, voice, response_format } = speech;
  const needs = noNeeds('tts');
  const bounds = () => speechBounds(input.length);
  const media = speechSettings({ voice, response_format, input_chars: input.length });
  return {
    speech,
    needs,
    size: noTokens,
    bindings: { operation: 'speech', model, provider, reasoning: {}, media },
    plan: (context) => planRequest(speech, needs, context),
    holdOf: (attempts) => holdOf(attempts, noTokens, bounds),
    bounds,
    // The text is short: the contract allows 4096 characters.
    forget() {},
  };
}
