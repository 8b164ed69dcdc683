import { type ModelAnswer, maxSpeechCharacters, ticketRequestSchema } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { imagePriceText, isImageSize, mostSpeechCharacters, speechPriceText } from './media-panels.tsx';

const modelAt = (...pricings: object[]) =>
  ({ provider_routes: pricings.map((pricing) => ({ pricing })) }) as unknown as ModelAnswer;

describe('media', () => {
  it.each(['1024x1024', '128x2048', '127x1024', '2049x128', '1024', '1024X1024', ' 512x512', '0512x512', 'x'])(
    'judges the size %s as the service does',
    (size) => expect(isImageSize(size)).toBe(ticketRequestSchema.safeParse({ model: 'a/b', size }).success),
  );

  it('takes as many characters as the service', () => expect(mostSpeechCharacters).toBe(maxSpeechCharacters));

  it('says what it costs before it is asked for', () => {
    expect(imagePriceText(modelAt({ image: 0.04 }))).toBe('$0.04 an image.');
    expect(imagePriceText(modelAt({ image: 0.04 }, { image: 0.02 }))).toBe('From $0.02 an image.');
    expect(speechPriceText(modelAt({ input_characters: 15 }), 0)).toBe('$15.00 per million characters.');
    expect(speechPriceText(modelAt({ input_characters: 15 }), 1000)).toBe(
      '$15.00 per million characters: $0.015 for this text.',
    );
    expect(imagePriceText(modelAt({}))).toBe('');
  });
});
