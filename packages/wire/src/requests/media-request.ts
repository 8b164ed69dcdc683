import * as z from 'zod';
import { modelIdField } from './model-ids.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** Limits of each dimension of an image, in pixels. */
const sizeLimits = { smallest: 128, largest: 2048 } as const;
const sizePattern = /^([1-9]\d{2,3})x([1-9]\d{2,3})$/;
/** The same pattern, as JSON schema takes it. */
export const imageSizePattern = '^[1-9][0-9]{2,3}x[1-9][0-9]{2,3}$';
const isWithin = (pixels: number): boolean => pixels >= sizeLimits.smallest && pixels <= sizeLimits.largest;

/** `WIDTHxHEIGHT`, in pixels. */
export const imageSizeSchema = z.string().refine(
  (text) => {
    const [, width, height] = sizePattern.exec(text) ?? [];
    return isWithin(Number(width)) && isWithin(Number(height));
  },
  { error: `must be WIDTHxHEIGHT, each from ${sizeLimits.smallest} to ${sizeLimits.largest}, such as 1024x1024` },
);

const imageFormatSchema = z.literal('b64_json', { error: 'must be `b64_json`: no hosted URL is returned' });

/** Settings that an image ticket binds, with the defaults of the body. */
export interface ImageSettings {
  readonly size: string;
  readonly response_format: 'b64_json';
}
const defaults: ImageSettings = { size: '1024x1024', response_format: 'b64_json' };

/** Settings as a body or a ticket request may state them. */
type Stated<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | null | undefined };

/** Fills in defaults, because a ticket treats an absent field and its default alike. */
export const imageSettings = ({ size, response_format }: Stated<ImageSettings>): ImageSettings => ({
  size: size ?? defaults.size,
  response_format: response_format ?? defaults.response_format,
});

/** Body of `POST /images/generations`. Unknown fields are dropped; `null` means absent. */
export const imageRequestSchema = z.object({
  model: modelIdField,
  prompt: z.string().min(1).max(32_000),
  size: imageSizeSchema
    .nullish()
    .meta({ description: '`WIDTHxHEIGHT`, each from 128 to 2048. Default 1024x1024.', pattern: imageSizePattern }),
  response_format: imageFormatSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  n: z.literal(1, { error: 'must be 1: one image is made per request' }).nullish(),
  stream: z.literal(false, { error: 'must be false: images are not streamed' }).nullish(),
});
export type ImageRequest = z.infer<typeof imageRequestSchema>;

/** The longest text of one speech request, in UTF-16 code units. */
export const maxSpeechCharacters = 20_000;

export const voiceSchema = z.string().min(1).max(128);

const speechFormatSchema = z.literal('mp3', { error: 'must be `mp3`' });

/** Settings that a speech ticket binds. */
export interface SpeechSettings {
  readonly response_format: 'mp3';
  /** UTF-16 code units of the text. */
  readonly input_chars: number;
  readonly voice: string | null;
}

/** Fills in defaults, because a ticket treats an absent field and its default alike. */
export const speechSettings = (asked: Stated<SpeechSettings> & { input_chars: number }): SpeechSettings => ({
  response_format: asked.response_format ?? 'mp3',
  input_chars: asked.input_chars,
  voice: asked.voice ?? null,
});

/** Body of `POST /audio/speech`. Unknown fields are dropped; `null` means absent. */
export const speechRequestSchema = z.object({
  model: modelIdField,
  input: z
    .string()
    .min(1)
    // zod's `max` counts code points.
    .refine((text) => text.length <= maxSpeechCharacters, {
      error: `must be at most ${maxSpeechCharacters} characters long, counted in UTF-16 code units`,
    })
    .meta({ maxLength: maxSpeechCharacters, description: 'The text, up to 20,000 UTF-16 code units.' }),
  voice: voiceSchema.nullish().describe("The provider's name of a voice."),
  response_format: speechFormatSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  stream_format: z.literal('audio', { error: 'must be `audio`: the answer is raw audio, not events' }).nullish(),
});
export type SpeechRequest = z.infer<typeof speechRequestSchema>;
