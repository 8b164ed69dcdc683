import { maxima } from '@sotto/contract';
import { ServiceError } from '@sotto/wire';
import type { ErrorsOf } from '../database/refused.ts';
import type { AtMaximum } from './maximum.ts';

export const maximumErrors: ErrorsOf<AtMaximum> = {
  at_maximum: ({ name, count, most }) => {
    const { what, note }: { readonly what: string; readonly note?: string } = maxima[name];
    const message = `There are ${count} ${what}; the most is ${most}.${note === undefined ? '' : ` ${note}`}`;
    return new ServiceError('conflict', { message });
  },
};
