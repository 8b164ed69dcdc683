import { type Maximum, type MaximumName, maxima } from '@sotto/contract';
import { count } from '../kinds.ts';
import { controlAndStart } from '../row.ts';

const amount = count('a number from 1 to 1000000', 1_000_000);

/** A row for each maximum of an account. */
const maximumRows = Object.values<Maximum>(maxima).map(({ setting, usual, what, note }) =>
  controlAndStart(setting as (typeof maxima)[MaximumName]['setting'], `limits.${setting.toLowerCase()}`, {
    kind: amount,
    default: usual,
    describe: `The most ${what}.${note === undefined ? '' : ` ${note}`}`,
  }),
);

/** The most of something in a minute, and the most that an account may have. */
export const limitRows = [
  controlAndStart('RATE_LIMIT_REQUESTS', 'limits.requests', {
    kind: count('a number of requests per minute'),
    default: 600,
    describe: 'Inference requests per minute and key.',
  }),
  controlAndStart('RATE_LIMIT_TOKENS', 'limits.tokens', {
    kind: count('a number of tokens per minute'),
    default: 2_000_000,
    describe: 'Inference tokens per minute and key.',
  }),
  controlAndStart('RATE_LIMIT_CONTROL', 'limits.control', {
    kind: count('a number of requests per minute'),
    default: 600,
    describe:
      'Requests to control per minute: by account for its sessions, and as many for its keys; by address without a valid credential.',
  }),
  ...maximumRows,
];
