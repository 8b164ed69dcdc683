import { answerFrom } from '../answer.ts';
import {
  type ContentAnswer,
  type ContentRequest,
  evidenceTarget,
  type Platform,
  parseEvidence,
} from '../gateway/platform.ts';

/** Keeps the page's cookies, address and cache out of requests, and follows no redirects. */
const apart = { redirect: 'error', credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' } as const;

/**
 * A browser. It opens the connections itself, and never shows the key that one proved or a value that one exports. So it
 * asks for evidence that the nonce alone binds.
 */
export const browserPlatform: Platform = {
  seesTlsKeys: false,
  async readEvidence(origin, { nonce }, signal) {
    const answer = await fetch(`${origin}${evidenceTarget({ nonce, binding: 'key' })}`, { ...apart, signal });
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
