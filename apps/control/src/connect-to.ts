export interface Address {
  readonly hostname: string;
  readonly port: number;
}

/** Options of a request, as Node takes them. Empty: the name of its URL leads to the right place. */
type ConnectOptions =
  | { readonly headers?: undefined }
  | (Address & { readonly servername: string; readonly headers: { readonly host: string } });

/**
 * The options of a request that connects to `address` instead of where the URL's name leads. Header and certificate
 * still have the URL's name.
 */
export function connectTo(url: URL, address: Address | undefined): ConnectOptions {
  return address === undefined ? {} : { ...address, servername: hostOf(url), headers: { host: url.host } };
}

/** Returns the host of a URL, an IPv6 address without its brackets. */
const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, '');
