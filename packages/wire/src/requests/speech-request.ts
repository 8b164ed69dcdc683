import * as z from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** The longest text of one speech request, in UTF-16 code units. */
export const maxSpeechCharacters = 20_000;

export const voiceSchema = z.string().min(1).max(128);

const speechFormatSchema = z.literal('mp3', { error: 'must be `mp3`' });

/** What a speech ticket binds beside model and policy (interface 2.4). */
export interface SpeechSettings {
  readonly response_format: 'mp3';
  /** UTF-16 code units of the text. */
  readonly input_chars: number;
  readonly voice: string | null;
}

/** Fills in what a request left out: absent and the default are the same to a ticket. */
export const speechSettings = (request: {
  readonly response_format?: 'mp3' | null | undefined;
  readonly input_chars: number;
  readonly voice?: string | null | undefined;
}): SpeechSettings => ({
  response_format: request.response_format ?? 'mp3',
  input_chars: request.input_chars,
  voice: request.voice ?? null,
});

/** Body of `POST /audio/speech` (interface 2.6). Fields not named here are dropped; `null` means absent. */
export const speechRequestSchema = z.object({
  model: modelIdSchema,
  input: z
    .string()
    .min(1)
    // The schema library's own `max` counts code points.
    .refine((text) => text.length <= maxSpeechCharacters, {
      error: `must be at most ${maxSpeechCharacters} characters long, counted in UTF-16 code units`,
    })
    .meta({ maxLength: maxSpeechCharacters }),
  voice: voiceSchema.nullish(),
  response_format: speechFormatSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  stream_format: z.literal('audio', { error: 'must be `audio`: the answer is raw audio, not events' }).nullish(),
});
export type SpeechRequest = z.infer<typeof speechRequestSchema>;
