import * as z from 'zod';

// Schemas of single fields. The documents name only schemas whose exports end in `Schema`.

export const instant = z.iso.datetime();
export const usd = z.number();

/** An e-mail address: RFC 5321 allows at most 254 characters. */
export const email = z.email().max(254);
