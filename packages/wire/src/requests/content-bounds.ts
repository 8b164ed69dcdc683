import * as z from 'zod';

/** The largest body that the confidential origin reads, in bytes: many inline images and long contexts. */
export const maxContentBytes = 32 * 1024 * 1024;
/** The largest body that the control origin reads, in bytes. */
export const maxControlBytes = 256 * 1024;
/** The largest body of a route under `/v1/auth`, in bytes. */
export const maxAuthBytes = 64 * 1024;

/**
 * The bound of a text of content. A text has no more characters than its body has bytes, so the limit of the body enforces it
 * and nothing is counted again.
 */
export const contentBound = { maxLength: maxContentBytes } as const;

/** Text of a prompt or an answer. Only the body limits its length. */
export const contentSchema = z.string().meta(contentBound);
