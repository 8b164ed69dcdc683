import type { PricingAnswer } from '@sotto/wire';
import { formatPrice } from '../../../format/money.ts';

/** A route's prices in one line. */
export function priceText({ input, output, image, input_characters: characters }: PricingAnswer): string {
  if (image !== undefined) return `${formatPrice(image)} an image`;
  if (characters !== undefined) return `${formatPrice(characters)} a million characters`;
  const parts = [
    ...(input === undefined ? [] : [`${formatPrice(input)} in`]),
    ...(output === undefined ? [] : [`${formatPrice(output)} out`]),
  ];
  return `${parts.join(' · ')} a million tokens`;
}
