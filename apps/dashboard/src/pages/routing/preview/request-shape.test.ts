import { routingPreviewRequestSchema } from '@sotto/contract/control/routing';
import { describe, expect, it } from 'vitest';
import { readShape, requestOf } from './request-shape.ts';

describe('a request shape', () => {
  it('comes from the address, without what is not right in it', () => {
    expect(
      readShape({
        model: 'acme/small',
        prompt_tokens: '20',
        max_tokens: 0,
        needs: ['tools', 'magic'],
        sort: 'best',
        x: 1,
      }),
    ).toEqual({ model: 'acme/small', prompt_tokens: 20, needs: ['tools'] });
    expect(readShape({ model: 7, needs: 'tools', minimum_privacy: 'secret', prompt_tokens: -1 })).toEqual({});
    expect(readShape({ prompt_tokens: 1.5, max_tokens: '' })).toEqual({});
  });

  it('is a question that the service takes', () => {
    const shape = {
      model: 'a/b',
      prompt_tokens: 5,
      max_tokens: 9,
      needs: ['vision'],
      minimum_privacy: 'tee',
      sort: 'price',
    } as const;
    expect(routingPreviewRequestSchema.parse(requestOf(shape))).toEqual({
      model: 'a/b',
      prompt_tokens: 5,
      max_tokens: 9,
      vision: true,
      provider: { minimum_privacy: 'tee', sort: 'price' },
    });
    // Without settings of its own, the workspace's sort counts: an empty policy is none.
    expect(requestOf({})).toEqual({ model: '/auto', prompt_tokens: 1000 });
  });
});
