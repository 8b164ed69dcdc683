import { describe, expect, it } from 'vitest';
import { assertSameOrigin } from './same-origin.ts';

const ours = 'https://sotto.example';
const other = 'https://other.sotto.example';
const extension = 'chrome-extension://abcdefghijklmnop';
const cookie = '__Secure-sotto.session_token=abc.def';
const verdict = (method: string, headers: Record<string, string>) => assertSameOrigin({ method, headers }, [ours]);

describe('assertSameOrigin', () => {
  it.each([
    ['a safe method from anywhere', 'GET', { cookie, origin: 'https://evil.example' }],
    ['a request without a session cookie', 'POST', { cookie: 'theme=dark', origin: 'https://evil.example' }],
    ['our origin', 'POST', { cookie, origin: ours }],
    ['our origin in the referer', 'POST', { cookie, referer: `${ours}/keys?x=1` }],
    ['our origin, called from a sibling site', 'POST', { cookie, origin: ours, 'sec-fetch-site': 'same-site' }],
    ['what the browser calls same-origin', 'POST', { cookie, origin: 'null', 'sec-fetch-site': 'same-origin' }],
    ['what the browser calls user-made', 'POST', { cookie, 'sec-fetch-site': 'none' }],
    ['a script that posts JSON', 'POST', { cookie, 'content-type': 'application/json; charset=utf-8' }],
    ['Node’s fetch', 'POST', { cookie, 'content-type': 'application/json', 'sec-fetch-mode': 'cors' }],
    ['a script that posts nothing', 'POST', { cookie, 'content-length': '0' }],
    ['a script with a method that no form has', 'DELETE', { cookie }],
  ])('lets through %s', (_name, method, headers) => {
    expect(verdict(method, headers)).toEqual({ ok: true });
  });

  it.each([
    ['another origin', 'POST', { cookie, origin: 'https://evil.example', 'content-type': 'application/json' }],
    ['another port of ours', 'POST', { cookie, origin: `${ours}:8443` }],
    ['a name that begins like ours', 'POST', { cookie, origin: `${ours}.evil.example` }],
    ['the origin `null`', 'POST', { cookie, origin: 'null' }],
    ['a foreign referer', 'POST', { cookie, referer: `https://evil.example/?${ours}` }],
    ['a referer that is no URL', 'POST', { cookie, referer: 'about', 'content-type': 'application/json' }],
    ['a foreign DELETE', 'DELETE', { cookie, origin: 'https://evil.example' }],
    [
      'another origin that the browser calls same-site',
      'POST',
      { cookie, origin: other, 'sec-fetch-site': 'same-site' },
    ],
    [
      'an extension’s page, which the browser calls user-made',
      'POST',
      { cookie, origin: extension, 'sec-fetch-site': 'none' },
    ],
    [
      'a foreign page, in a form that the user sends again',
      'POST',
      { cookie, referer: `${other}/`, 'sec-fetch-site': 'none' },
    ],
    ['a foreign origin despite a fine referer', 'POST', { cookie, origin: 'https://evil.example', referer: ours }],
  ])('refuses %s', (_name, method, headers) => {
    expect(verdict(method, headers)).toEqual({ ok: false, failed: 'foreign_origin' });
  });

  it.each([
    ['a form without origin', { cookie, 'content-type': 'application/x-www-form-urlencoded' }],
    ['text that smuggles the word', { cookie, 'content-type': 'text/plain; application/json' }],
    ['a form without fields', { cookie, 'content-type': 'text/plain', 'content-length': '0' }],
    ['a body without a type', { cookie, 'content-length': '2' }],
    ['a body of unknown length without a type', { cookie, 'transfer-encoding': 'chunked' }],
    ['a foreign page that posts nothing', { cookie, 'content-length': '0', 'sec-fetch-site': 'cross-site' }],
    [
      'a cross-site fetch without origin',
      { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'cross-site' },
    ],
  ])('refuses %s', (_name, headers) => {
    expect(verdict('POST', headers)).toEqual({ ok: false, failed: 'no_origin' });
  });
});
