import * as z from 'zod';

// Schemas of single fields. The documents name only schemas whose exports end in `Schema`.

export const instant = z.iso.datetime();
export const usd = z.number();
/** The most that something may cost, in USD, bounded so that nano-USD stay below 2^53. */
export const limitUsd = z.number().min(0).max(1_000_000);
export const yearMonth = z.string().regex(/^\d{4}-\d{2}$/);
/** An id that a request names, in any case. Answers and Postgres have it in lower case, so that ids can be compared as texts. */
export const givenId = z.uuid().toLowerCase();
/** Selects the rows with this id. */
export const idFilter = givenId.optional();
export const jsonOrCsv = z.enum(['json', 'csv']).optional();

/** An e-mail address: RFC 5321 allows at most 254 characters. */
export const email = z.email().max(254);

/** What the costs of a key are grouped by, such as a cost centre. */
export const keyTag = z.string().trim().min(1).max(100);
