import { type CountedOutput, type MeterReading, noUsage, type Price, type TokenBounds, type Usage } from '@sotto/money';
import type { Route } from '@sotto/router';
import type { AdmissionQuestion } from '../admission/admit.ts';

/** The route that served, or was working for the client when it left, and its output. */
export interface Served extends Pick<MeterReading, 'reported' | 'counted' | 'bounds'> {
  readonly route: Route;
  /** The price to charge by, if it is not the route's own. */
  readonly price?: Price;
  /** The time to the first token, in ms. Present for an answer whose first output is a token. */
  readonly firstTokenMs?: number;
}

/** An answer as the broker counted it. */
export interface CountedAnswer extends Omit<CountedOutput, 'promptTokens'> {
  /** The usage that the provider reported, if it did. */
  readonly reported?: Usage | undefined;
}

/** Describes an answer that is charged by tokens. */
export const servedByTokens = (
  question: AdmissionQuestion,
  route: Route,
  { reported, ...counted }: CountedAnswer,
): Served => ({
  route,
  reported,
  counted: { promptTokens: question.size.promptTokensLikely, ...counted },
  bounds: question.bounds(route),
});

/** Describes the product of an operation with a flat price. The broker knows its usage, so no provider has to report it. */
export const servedAtFlatPrice = (
  route: Route,
  product: Pick<Usage, 'images'> | Pick<Usage, 'inputCharacters'>,
): Served => {
  const bounds: TokenBounds = { promptTokens: 0, completionTokens: 0, ...product };
  return { route, reported: { ...noUsage, ...product }, counted: { promptTokens: 0, producedBytes: 0 }, bounds };
};
