import { answerFrom } from '../answer.ts';
import type { ContentAnswer, ContentRequest, Platform } from '../gateway/platform.ts';
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
      async send({ path, method, headers, body, signal }: ContentRequest): Promise<ContentAnswer> {
        const answer = await fetch(`${origin}${path}`, {
          ...apart,
          method,
          headers: { ...headers },
          ...(body === undefined ? {} : { body }),
          ...(signal === undefined ? {} : { signal }),
        });
        return answerFrom(answer);
      },
      close() {},
    };
  },
};
