interface Cookie {
  readonly value: string;
  readonly path: string;
}

/** A browser that knows only redirects and cookies. It sends a cookie below its path, and forgets a cleared one. */
export class Browser {
  readonly #cookies = new Map<string, Cookie>();
  readonly #headers: Readonly<Record<string, string>>;

  /** @param headers - Headers for every request. */
  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#headers = headers;
  }

  /** Sends one request. A redirect is returned, not followed. */
  async ask(method: string, url: string, options: { readonly body?: unknown; readonly form?: URLSearchParams } = {}) {
    const { body, form } = options;
    const response = await fetch(url, {
      method,
      redirect: 'manual',
      headers: {
        ...this.#headers,
        accept: 'text/html, application/json;q=0.9',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        cookie: this.cookiesFor(url),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(form === undefined ? {} : { body: form }),
    });
    this.#keep(response.headers.getSetCookie(), url);
    return response;
  }

  /** Returns the target of a redirect. Throws if the answer is not a redirect. */
  async follow(url: string): Promise<string> {
    const response = await this.ask('GET', url);
    const location = response.headers.get('location');
    if (location === null) throw new Error(`${response.status} instead of a redirect: ${await response.text()}`);
    return new URL(location, url).href;
  }

  cookiesFor(url: string): string {
    const { pathname } = new URL(url);
    return [...this.#cookies]
      .filter(([, { path }]) => pathname === path || pathname.startsWith(path.endsWith('/') ? path : `${path}/`))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`)
      .join('; ');
  }

  #keep(lines: readonly string[], url: string): void {
    for (const line of lines) {
      const [pair = '', ...attributes] = line.split(';').map((part) => part.trim());
      const [name = '', ...value] = pair.split('=');
      const named = (wanted: string) =>
        attributes.find((attribute) => attribute.toLowerCase().startsWith(`${wanted}=`))?.slice(wanted.length + 1);
      const path = named('path') ?? new URL(url).pathname;
      const expires = named('expires');
      const gone = named('max-age') === '0' || (expires !== undefined && Date.parse(expires) < Date.now());
      // Cookies with the same name but different paths are different cookies.
      if (gone || value.join('=') === '') this.#cookies.delete(`${name} ${path}`);
      else this.#cookies.set(`${name} ${path}`, { value: value.join('='), path });
    }
  }
}
