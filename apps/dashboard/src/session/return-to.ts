const here = 'https://here.invalid';

/**
 * Where to go after signing in: a path of this origin, such as `/keys?x=1`. Returns `/` for anything that would lead to
 * another origin. It judges the path as it is after parsing, because `/.//evil.example` becomes `//evil.example`.
 */
export function safeReturnTo(asked: unknown): string {
  if (typeof asked !== 'string' || !asked.startsWith('/')) return '/';
  const url = URL.parse(asked, here);
  if (url === null || url.origin !== here) return '/';
  const path = `${url.pathname}${url.search}${url.hash}`;
  // A browser parses the result once more. It must lead to the same place.
  return URL.parse(path, here)?.href === url.href ? path : '/';
}
