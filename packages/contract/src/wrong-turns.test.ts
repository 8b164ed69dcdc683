import { type OriginName, pathsOfOrigin, wrongTurn } from '@sotto/wire';
import { describe, expect, it } from 'vitest';
import { confidentialOrigin } from './confidential/index.ts';
import { controlOrigin } from './control/index.ts';

const routes = {
  control: controlOrigin.routes.map(({ path }) => path),
  confidential: confidentialOrigin.routes.map(({ path }) => path),
};
const others = { control: 'confidential', confidential: 'control' } as const;
const ask = (path: string, here: OriginName) => wrongTurn(path, here, { serves: (one) => routes[here].includes(one) });

describe('wrongTurn', () => {
  it.each(['control', 'confidential'] as const)('knows every path that only the %s origin serves', (origin) => {
    const own = routes[origin].filter((path) => path.startsWith('/v1/') && !routes[others[origin]].includes(path));
    const unknown = own.filter((path) => ask(path, others[origin]) === undefined);
    expect(own.length).toBeGreaterThan(4);
    expect(unknown).toEqual([]);
    const unused = pathsOfOrigin[origin].filter((first) => !own.some((path) => path.startsWith(first)));
    expect(unused).toEqual([]);
    for (const path of own) expect(ask(path, others[origin])).toContain(`The ${origin} origin serves this path.`);
  });

  it('names the address of the other origin where it is known', () => {
    const origins = { confidential: 'https://api.example.com' };
    expect(wrongTurn('/v1/chat/completions', 'control', { serves: () => false, origins })).toBe(
      'This is the control origin. The confidential origin (https://api.example.com) serves this path.',
    );
  });

  it.each([
    ['/chat/completions', /base URL of a client ends in \/v1/],
    ['/keys', /base URL of a client ends in \/v1/],
    ['/v1/v1/chat/completions', /\/v1 twice/],
    ['/v1/responses', /no Responses API.*chat\/completions.*sotto proxy/],
    ['/v1/responses/resp_1/input_items', /no Responses API/],
    ['/v1/messages', /no Messages API/],
    ['/v1/messages/count_tokens', /no Messages API/],
    ['/v1/completions', /legacy/],
    ['/v1/models/lab/one', /lists all of them/],
  ])('tells what to use instead of %s', (path, instead) => {
    expect(ask(path, 'confidential')).toMatch(instead);
  });

  it.each(['/', '/nothing', '/v1/nothing', '/v1', '/v1/', '/v1/keysmith', '/v1/chatter'])(
    'knows nothing about %s',
    (path) => {
      expect(ask(path, 'confidential')).toBeUndefined();
    },
  );
});
