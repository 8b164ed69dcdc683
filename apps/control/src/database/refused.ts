/** Why nothing was done: a name, and what a sentence about it needs. */
export interface Refusal {
  readonly why: string;
}

/**
 * A result of SQL code that did nothing, because a rule forbids it. `inTransaction` rolls back at it. It has no public
 * sentence: the caller adds one with `orError`.
 */
export class Refused<out R extends Refusal> {
  readonly refusal: R;

  constructor(refusal: R) {
    this.refusal = refusal;
  }
}

export const refused = <const Why extends string>(why: Why): Refused<{ readonly why: Why }> => new Refused({ why });

/** The error of each refusal. A table that lacks one does not compile. */
export type ErrorsOf<R extends Refusal> = {
  readonly [Why in R['why']]: (refusal: Extract<R, { readonly why: Why }>) => Error;
};

type RefusalOf<Result> = Result extends Refused<infer R> ? R : never;

/** Returns a result. Throws the error of a refusal. */
export function orError<Result>(
  result: Result,
  errors: ErrorsOf<RefusalOf<Result>>,
): Exclude<Result, Refused<Refusal>> {
  if (!(result instanceof Refused)) return result as Exclude<Result, Refused<Refusal>>;
  const { refusal } = result as Refused<Refusal>;
  const errorOf = (errors as unknown as Readonly<Record<string, (refusal: Refusal) => Error>>)[refusal.why];
  throw errorOf?.(refusal) ?? new Error(`the refusal \`${refusal.why}\` has no error`);
}
