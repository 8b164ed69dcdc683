type Named<Functions> = Readonly<Record<keyof Functions, (...given: never[]) => unknown>>;
type Taps<Functions extends Named<Functions>> = {
  readonly [Name in keyof Functions]?: (...given: Parameters<Functions[Name]>) => void;
};

/** Returns the same functions, of which some call a tap with their arguments first. */
export function withTaps<Functions extends Named<Functions>>(functions: Functions, taps: Taps<Functions>): Functions {
  const tapped = Object.entries<(...given: never[]) => void>(taps as never).map(([name, tap]) => [
    name,
    (...given: never[]): unknown => {
      tap(...given);
      return functions[name as keyof Functions](...given);
    },
  ]);
  return { ...functions, ...Object.fromEntries(tapped) };
}
