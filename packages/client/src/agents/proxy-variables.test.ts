import { describe, expect, it } from 'vitest';
import { besideProxies, proxyInTheWay } from './proxy-variables.ts';

const host = '127.0.0.1';
const proxy = 'http://proxy.example:3128';

describe('a program that must reach this machine without a proxy', () => {
  it.each<[string, Record<string, string>, { NO_PROXY: string; no_proxy: string }]>([
    ['no list', {}, { NO_PROXY: host, no_proxy: host }],
    ['an empty list', { NO_PROXY: '' }, { NO_PROXY: host, no_proxy: host }],
    ['a list', { NO_PROXY: 'a,b' }, { NO_PROXY: `a,b,${host}`, no_proxy: `a,b,${host}` }],
    ['a list in lower case', { no_proxy: 'a' }, { NO_PROXY: `a,${host}`, no_proxy: `a,${host}` }],
    ['two lists', { NO_PROXY: 'a', no_proxy: 'b' }, { NO_PROXY: `a,${host}`, no_proxy: `b,${host}` }],
    ['a list with spaces', { NO_PROXY: 'a b' }, { NO_PROXY: `a b,${host}`, no_proxy: `a b,${host}` }],
    ['a list that has it', { NO_PROXY: `a, ${host}` }, { NO_PROXY: `a, ${host}`, no_proxy: `a, ${host}` }],
    [
      'a list that has its port only',
      { NO_PROXY: `${host}:1` },
      { NO_PROXY: `${host}:1,${host}`, no_proxy: `${host}:1,${host}` },
    ],
    ['`*` in one list', { NO_PROXY: '*', no_proxy: 'b' }, { NO_PROXY: `*,${host}`, no_proxy: `b,${host}` }],
  ])('with %s, keeps its proxies and the hosts of the user', (_, lists, expected) => {
    const proxies = { HTTP_PROXY: proxy, all_proxy: proxy };
    expect(besideProxies({ ...proxies, ...lists, HOME: '/h' }, host)).toEqual({ ...proxies, ...expected, HOME: '/h' });
  });

  it('gets no proxy where the user wants none', () => {
    for (const lists of [{ NO_PROXY: '*' }, { no_proxy: ' * ' }, { NO_PROXY: '*', no_proxy: '*' }]) {
      const left = besideProxies({ HTTP_PROXY: proxy, ALL_PROXY: proxy, https_proxy: proxy, ...lists }, host);
      expect(Object.keys(left).sort()).toEqual(['NO_PROXY', 'no_proxy']);
      expect(left.NO_PROXY).toContain(host);
    }
  });
});

it.each<[Record<string, string>, ReturnType<typeof proxyInTheWay>]>([
  [{}, undefined],
  [{ HTTP_PROXY: '' }, undefined],
  [{ NO_PROXY: 'a' }, undefined],
  [{ HTTP_PROXY: proxy }, { proxy: 'HTTP_PROXY', exempt: undefined }],
  [
    { all_proxy: proxy, NO_PROXY: 'a' },
    { proxy: 'all_proxy', exempt: 'NO_PROXY' },
  ],
  [
    { HTTP_PROXY: proxy, NO_PROXY: host, no_proxy: 'a' },
    { proxy: 'HTTP_PROXY', exempt: 'no_proxy' },
  ],
  [
    { HTTP_PROXY: proxy, NO_PROXY: '*' },
    { proxy: 'HTTP_PROXY', exempt: 'NO_PROXY' },
  ],
  [{ HTTP_PROXY: proxy, NO_PROXY: `a,${host}` }, undefined],
])('with %j, the proxy in the way is %j', (variables, expected) => {
  expect(proxyInTheWay(variables, host)).toEqual(expected);
});
