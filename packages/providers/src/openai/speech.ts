import type { AttemptOutcome } from '@sotto/router';
import type { SpeechRequest } from '@sotto/wire';
import type { SpeechAdapter, SpeechTarget, UpstreamRequest } from '../adapter.ts';
import { asObject, parseJson } from '../json.ts';
import { classifyEmbeddedError, embeddedError } from './classify-failure.ts';

/** Speech as OpenAI's `POST /audio/speech` makes it. */
export const openAiSpeech: SpeechAdapter = { request: speechRequest, isAudio, classifyBody };

function speechRequest(request: SpeechRequest, { upstreamModel, defaultVoice }: SpeechTarget): UpstreamRequest {
  const body = {
    model: upstreamModel,
    input: request.input,
    voice: request.voice ?? defaultVoice,
    response_format: 'mp3',
  };
  return { path: '/audio/speech', body: JSON.stringify(body), accept: 'audio/mpeg' };
}

/** Names of MP3, and of bytes of which nothing is said. */
const audioTypes: ReadonlySet<string> = new Set([
  'audio/mpeg',
  'audio/mp3',
  'audio/mpeg3',
  'audio/x-mpeg-3',
  'application/octet-stream',
  'binary/octet-stream',
  '',
]);

function isAudio(contentType: string): boolean {
  const [type = ''] = contentType.split(';');
  return audioTypes.has(type.trim().toLowerCase());
}

function classifyBody(body: Buffer): AttemptOutcome {
  const error = embeddedError(asObject(parseJson(body.toString('utf8'))) ?? {});
  return error === undefined ? 'malformed_answer' : classifyEmbeddedError(error);
}
