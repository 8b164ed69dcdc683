import type { Contract } from '@sotto/contract';
import { isStorable, ServiceError } from '@sotto/wire';
import { isUuid } from '../database/is-uuid.ts';
import { notFound } from './not-found.ts';

/** Reads the parameters of a path. A malformed id and a text that nothing is called are `not_found`, as an unknown id is. */
export function readParams({ params = {} }: Contract, given: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).map(([name, { id, maxLength }]) => {
      const text = given[name] ?? '';
      if (id === undefined) {
        if (text.length > maxLength || !isStorable(text)) throw new ServiceError('not_found');
        return [name, text];
      }
      if (!isUuid(text)) throw notFound(id);
      return [name, text.toLowerCase()];
    }),
  );
}
