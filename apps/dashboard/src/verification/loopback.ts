/** Whether an origin is this very machine: nothing but development is. */
export function isLoopback(origin: string): boolean {
  const host = URL.parse(origin)?.hostname ?? '';
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host);
}
