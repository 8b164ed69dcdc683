import * as z from 'zod';

// Schemas of single fields. The documents name only schemas whose exports end in `Schema`.

export const instant = z.iso.datetime();
export const usd = z.number();

/** An e-mail address: RFC 5321 allows at most 254 characters. */
export const email = z.email().max(254);

/** What the costs of a key are grouped by, such as a cost centre. */
export const keyTag = z.string().trim().min(1).max(100);
