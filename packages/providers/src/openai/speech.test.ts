import { speechRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { openAiSpeech } from './speech.ts';

const ask = (body: object, defaultVoice?: string) =>
  openAiSpeech.request(speechRequestSchema.parse({ model: 'acme/voice', input: 'héllo', ...body }), {
    upstreamModel: 'voice-1',
    defaultVoice,
  });

describe('a request for speech', () => {
  it('goes upstream field by field', () => {
    const request = ask({ voice: 'nova', provider: 'acme', speed: 2, instructions: 'CANARY', response_format: null });
    expect(request).toMatchObject({ path: '/audio/speech', accept: 'audio/mpeg' });
    expect(JSON.parse(request.body)).toEqual({
      model: 'voice-1',
      input: 'héllo',
      voice: 'nova',
      response_format: 'mp3',
    });
  });

  it("takes the provider's usual voice where it names none", () => {
    expect(JSON.parse(ask({}, 'alloy').body)).toMatchObject({ voice: 'alloy' });
    expect(JSON.parse(ask({ voice: 'nova' }, 'alloy').body)).toMatchObject({ voice: 'nova' });
    expect(JSON.parse(ask({}).body)).not.toHaveProperty('voice');
  });
});

describe('an answer to it', () => {
  it('is audio by its content type', () => {
    for (const type of ['audio/mpeg', 'Audio/MPEG; rate=24000', 'audio/mp3', 'application/octet-stream', ''])
      expect(openAiSpeech.isAudio(type), type).toBe(true);
    for (const type of ['application/json', 'text/html', 'audio/wav', 'audio/mpegurl', 'text/event-stream'])
      expect(openAiSpeech.isAudio(type), type).toBe(false);
  });

  it('that is none is read for an error', () => {
    expect(openAiSpeech.classifyBody(Buffer.from('{"error":{"code":429}}'))).toBe('rate_limited');
    expect(openAiSpeech.classifyBody(Buffer.from('{"error":{"code":"content_policy_violation"}}'))).toBe(
      'content_refused',
    );
    for (const body of ['{"audio":"..."}', '<html>', '', '[]', '"x"'])
      expect(openAiSpeech.classifyBody(Buffer.from(body)), body).toBe('malformed_answer');
  });
});
