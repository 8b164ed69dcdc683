import { ClientError } from './errors.ts';

/** A valid origin: `https://host[:port]` as browsers spell it, or plain http on this machine. */
export interface ServiceOrigin {
  readonly origin: string;
  readonly isLoopback: boolean;
}

/**
 * Reads the address of one of the service's origins, with or without its `/v1`. It accepts plain http on loopback only:
 * elsewhere, anyone on the network path could read the traffic. It rejects a dot at the end of a host, because the same
 * host would then pass for another origin. Throws `origin_invalid`, naming the setting.
 */
export function readOrigin(name: string, address: string): ServiceOrigin {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isLoopback = url !== undefined && isLoopbackHost(url.hostname);
  const secure = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback);
  const isBare = url !== undefined && /^\/(?:v1\/?)?$/.test(url.pathname) && url.search === '' && url.hash === '';
  if (!secure || !isBare || url.username !== '' || url.password !== '') throw new ClientError('origin_invalid', name);
  if (url.hostname.endsWith('.')) {
    const detail = `Remove the dot at the end of the host; got ${url.hostname}.`;
    throw new ClientError('origin_invalid', name, { detail });
  }
  return { origin: url.origin, isLoopback };
}

/** Requires two different origins. The key goes to one and the content to the other; a single place could link them. */
export function requireApart(control: ServiceOrigin, confidential: ServiceOrigin): void {
  if (placeOf(control) !== placeOf(confidential)) return;
  const detail = 'The control origin receives your key, so it cannot be the confidential origin.';
  throw new ClientError('origin_invalid', 'controlOrigin', { detail });
}

/** The form in which origins are compared. The usual names of this machine all mean the server at their port. */
const placeOf = ({ origin }: ServiceOrigin): string => {
  const { hostname, port, protocol } = new URL(origin);
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname) ? `${protocol}//localhost:${port}` : origin;
};

const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
