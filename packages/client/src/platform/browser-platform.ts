import { answerFrom } from '../answer.ts';
import {
  type ContentAnswer,
  type ContentRequest,
  evidencePath,
  type Platform,
  parseEvidence,
} from '../gateway/platform.ts';

/** Keeps the page's cookies, address and cache out of requests, and follows no redirects. */
const apart = { redirect: 'error', credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' } as const;

/** A browser. It opens the connections itself and never shows the key that one proved. */
export const browserPlatform: Platform = {
  seesTlsKeys: false,
  async readEvidence(origin, nonce, signal) {
    const url = `${origin}${evidencePath}?nonce=${nonce}`;
    const answer = await fetch(url, { ...apart, signal });
    return parseEvidence(answer.status, await answer.text());
  },
  openChannel(origin) {
    return {
      async send({ method = 'POST', path, headers, body, signal }: ContentRequest): Promise<ContentAnswer> {
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
