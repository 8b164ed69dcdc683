type Value = string | boolean | readonly string[] | undefined;

/** Returns those of the options that have a value as they are typed, each after a space. */
export function typedOptions(
  options: object,
  values: Readonly<Record<string, Value>>,
  quoted: (word: string) => string,
): string {
  return Object.keys(options)
    .flatMap((name) => typed(name, values[name]))
    .map((word) => ` ${quoted(word)}`)
    .join('');
}

function typed(name: string, value: Value): readonly string[] {
  if (value === undefined || value === false) return [];
  if (value === true) return [`--${name}`];
  // `--name=value` is read also if the value begins with a dash.
  return [value].flat().flatMap((each) => (each.startsWith('-') ? [`--${name}=${each}`] : [`--${name}`, each]));
}
