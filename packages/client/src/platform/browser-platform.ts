import type { ContentRequest, Platform } from '../gateway/platform.ts';
import { parseEvidence } from './read-evidence.ts';

/** What belongs to the page stays with the page, and nobody leads a request elsewhere. */
const apart = { redirect: 'error', credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' } as const;

/** A browser: it makes the connections itself, and shows nobody the key that one proved. */
export const browserPlatform: Platform = {
  seesTlsKeys: false,
  async readEvidence(origin, nonce, signal) {
    const url = `${origin}/v1/gateway/attestation?nonce=${nonce}`;
    const answer = await fetch(url, { ...apart, ...(signal === undefined ? {} : { signal }) });
    return parseEvidence(answer.status, await answer.text());
  },
  openChannel(origin) {
    return {
      send({ path, method, headers, body, signal }: ContentRequest): Promise<Response> {
        const init = { ...apart, method, headers: { ...headers } };
        return fetch(`${origin}${path}`, {
          ...init,
          ...(body === undefined ? {} : { body }),
          ...(signal === undefined ? {} : { signal }),
        });
      },
      close() {},
    };
  },
};
