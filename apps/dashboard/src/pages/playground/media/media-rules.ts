import type { ModelAnswer } from '@sotto/wire';
import { formatPrice, formatUsd } from '../../../format/money.ts';

/** The most characters of one speech request, in UTF-16 code units (interface part 8). */
export const mostSpeechCharacters = 20_000;

/** `WIDTHxHEIGHT`, each from 128 to 2048 (interface 2.5). */
export function isImageSize(text: string): boolean {
  const [, width, height] = /^([1-9]\d{2,3})x([1-9]\d{2,3})$/.exec(text) ?? [];
  return [width, height].every((side) => Number(side) >= 128 && Number(side) <= 2048);
}

const cheapest = (prices: readonly (number | undefined)[]): number | undefined => {
  const known = prices.filter((price) => price !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
};

/** What an image of a model costs: flat, the lowest of its routes. */
export function imagePriceText({ provider_routes: routes }: ModelAnswer): string {
  const price = cheapest(routes.map(({ pricing }) => pricing.image));
  if (price === undefined) return '';
  return `${routes.length > 1 ? 'From ' : ''}${formatPrice(price)} an image.`;
}

/** What a text of so many characters costs to speak, at the lowest price of a model's routes. */
export function speechPriceText({ provider_routes: routes }: ModelAnswer, characters: number): string {
  const price = cheapest(routes.map(({ pricing }) => pricing.input_characters));
  if (price === undefined) return '';
  const listed = `${formatPrice(price)} a million characters`;
  return characters === 0 ? `${listed}.` : `${listed}: ${formatUsd((price * characters) / 1_000_000)} for this text.`;
}
