import * as z from 'zod';
import { modelIdSchema } from './chat-request.ts';
import { providerPolicySchema } from './provider-policy.ts';

/** Of each dimension of an image, in pixels (interface part 8). */
const sizeLimits = { smallest: 128, largest: 2048 } as const;
const sizePattern = /^([1-9]\d{2,3})x([1-9]\d{2,3})$/;
const isWithin = (pixels: number): boolean => pixels >= sizeLimits.smallest && pixels <= sizeLimits.largest;

/** `WIDTHxHEIGHT` (interface 2.5). */
export const imageSizeSchema = z.string().refine(
  (text) => {
    const [, width, height] = sizePattern.exec(text) ?? [];
    return isWithin(Number(width)) && isWithin(Number(height));
  },
  { error: `must be WIDTHxHEIGHT, each from ${sizeLimits.smallest} to ${sizeLimits.largest}, such as 1024x1024` },
);

const imageFormatSchema = z.literal('b64_json', { error: 'must be `b64_json`: no hosted URL is returned' });

/** What an image ticket binds beside model and policy; the defaults are those of the body (interface 2.5). */
export interface ImageSettings {
  readonly size: string;
  readonly response_format: 'b64_json';
}
const defaults: ImageSettings = { size: '1024x1024', response_format: 'b64_json' };

/** Fills in what a request left out: absent and the default are the same to a ticket. */
export const imageSettings = (request: {
  readonly size?: string | null | undefined;
  readonly response_format?: 'b64_json' | null | undefined;
}): ImageSettings => ({
  size: request.size ?? defaults.size,
  response_format: request.response_format ?? defaults.response_format,
});

/** Body of `POST /images/generations` (interface 2.5). Fields not named here are dropped; `null` means absent. */
export const imageRequestSchema = z.object({
  model: modelIdSchema,
  prompt: z.string().min(1).max(32_000),
  size: imageSizeSchema.nullish(),
  response_format: imageFormatSchema.nullish(),
  provider: providerPolicySchema.nullish(),
  n: z.literal(1, { error: 'must be 1: one image is made per request' }).nullish(),
  stream: z.literal(false, { error: 'must be false: images are not streamed' }).nullish(),
});
export type ImageRequest = z.infer<typeof imageRequestSchema>;
