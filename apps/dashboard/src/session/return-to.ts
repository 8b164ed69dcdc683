/**
 * Where to go after signing in: a path of this origin, such as `/keys?x=1`. Returns `/` for anything that would lead to
 * another origin.
 */
export function safeReturnTo(asked: unknown): string {
  if (typeof asked !== 'string' || !/^\/(?![/\\])/.test(asked)) return '/';
  const here = 'https://here.invalid';
  const url = URL.parse(asked, here);
  return url === null || url.origin !== here ? '/' : `${url.pathname}${url.search}${url.hash}`;
}
