import { describe, expect, it } from 'vitest';
import { filtersIn, readModelSearch } from './model-search.ts';

describe('the address of a list of models', () => {
  it('is read as it was written', () => {
    const search = {
      q: 'chat',
      type: 'text',
      tier: 'tee',
      provider: 'acme/eu',
      price: 0.5,
      context: 128000,
      can: 'tools,vision',
      sort: 'input',
    };
    expect(readModelSearch(search)).toEqual(search);
    expect(filtersIn(readModelSearch(search))).toBe(7);
  });

  it('says nothing where it says something wrong', () => {
    const wrong = {
      q: {},
      type: 'video',
      tier: 7,
      provider: '',
      price: 'x',
      context: -1,
      can: 'fly',
      sort: 'id',
      more: 1,
    };
    expect(Object.values(readModelSearch(wrong)).filter((value) => value !== undefined)).toEqual([]);
    expect(filtersIn(readModelSearch({}))).toBe(0);
  });

  it('may hold words that read like numbers', () => {
    expect(readModelSearch({ q: 4 }).q).toBe('4');
  });
});
