type Named<Functions> = Readonly<Record<keyof Functions, (...given: never[]) => unknown>>;
type Observers<Functions extends Named<Functions>> = {
  readonly [Name in keyof Functions]?: (...given: Parameters<Functions[Name]>) => void;
};

/** Returns the same functions, of which some tell an observer their arguments first. */
export function withObservers<Functions extends Named<Functions>>(
  functions: Functions,
  observers: Observers<Functions>,
): Functions {
  const observed = Object.entries<(...given: never[]) => void>(observers as never).map(([name, observe]) => [
    name,
    (...given: never[]): unknown => {
      observe(...given);
      return functions[name as keyof Functions](...given);
    },
  ]);
  return { ...functions, ...Object.fromEntries(observed) };
}
