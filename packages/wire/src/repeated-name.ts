const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

interface Open {
  /** The names so far, if it is an object. */
  readonly names: Set<string> | undefined;
  /** The name, or the index in a list, of the present value. */
  at: string | number;
  isName: boolean;
}

/**
 * Returns the path of a name that an object of a valid JSON text has twice, such as `providers.acme`. Parsers keep the last
 * value and ignore the first one, which a reader of the file may have taken for the one in use.
 */
export function repeatedName(json: string): string | undefined {
  const open: Open[] = [];
  for (const [token] of json.matchAll(tokens)) {
    const top = open.at(-1);
    if (token === '{') open.push({ names: new Set(), at: '', isName: true });
    else if (token === '[') open.push({ names: undefined, at: 0, isName: false });
    else if (token === '}' || token === ']') open.pop();
    else if (top === undefined) continue;
    else if (token === ',') {
      if (typeof top.at === 'number') top.at += 1;
      else top.isName = true;
    } else if (top.isName) {
      // Two spellings of a name are the same name.
      const name = String(JSON.parse(token));
      Object.assign(top, { at: name, isName: false });
      if (top.names?.has(name)) return open.map(({ at }) => at).join('.');
      top.names?.add(name);
    }
  }
  return undefined;
}
