import { hash } from 'node:crypto';
import { disguises, hashes } from './disguises.ts';

/** What a person at an address could be found by, and each plain hash of it: alone, or as the name of a count. */
export function identities(
  email: string,
  { ipv4, ipv6 }: { readonly ipv4: string; readonly ipv6: string },
): Record<string, string[]> {
  const network = `${ipv6.split(':').slice(0, 4).join(':')}::/64`;
  const account = hash('sha256', email, 'hex');
  const texts = [email, ...[ipv4, ipv6, network].flatMap((from) => [from, `address:${from}`, `${from}:${account}`])];
  return Object.fromEntries(texts.map((text) => [text, [...disguises(text), ...hashes(text)]]));
}
