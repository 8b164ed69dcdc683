import { setting } from '@sotto/server';

/** Whether a text is an https URL, or an http URL on loopback, without a user, a query or a fragment. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && setting.isLoopback(hostOf(url)));
}

/** Returns the host of a URL, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
