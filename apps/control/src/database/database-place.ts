/**
 * Returns a URL of Postgres without its user and password. Two URLs with the same text lead to one database. Undefined for
 * anything else, such as the path of a socket.
 */
export function databasePlace(url: string): string | undefined {
  const place = URL.parse(url);
  if (place === null) return undefined;
  place.username = '';
  place.password = '';
  for (const name of ['user', 'password']) place.searchParams.delete(name);
  return place.href;
}
