import { ApiError, sentenceOf } from './call.ts';

/** The service's sentence about one field of a form; undefined where it said nothing of that field. */
export const errorAt = (error: unknown, field: string): string | undefined =>
  error instanceof ApiError && error.param === field ? error.message : undefined;

/** The sentence of a failure that is about none of the fields which show their own. */
export const errorElsewhere = (error: unknown, fields: readonly string[]): string | undefined => {
  if (error === null || error === undefined) return undefined;
  return error instanceof ApiError && error.param !== undefined && fields.includes(error.param)
    ? undefined
    : sentenceOf(error);
};
