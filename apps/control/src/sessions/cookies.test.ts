import { describe, expect, it } from 'vitest';
import { hasSessionCookie, needsSecureCookies } from './cookies.ts';

describe('needsSecureCookies', () => {
  it.each([
    'http://localhost:4000',
    'http://127.0.0.1:4000',
    'http://127.8.9.1',
    'http://[::1]:4000',
    'http://app.localhost:4000',
  ])('is off on plain http to loopback: %s', (origin) => {
    expect(needsSecureCookies(origin)).toBe(false);
  });

  it.each([
    'https://sotto.example',
    'http://sotto.example',
    'http://10.0.0.1',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example',
    'https://localhost:4000',
  ])('is on everywhere else: %s', (origin) => {
    expect(needsSecureCookies(origin)).toBe(true);
  });
});

describe('hasSessionCookie', () => {
  it('sees the cookie under both of its names, anywhere in the header', () => {
    expect(hasSessionCookie('sotto.session_token=a')).toBe(true);
    expect(hasSessionCookie('theme=dark; __Secure-sotto.session_token=a')).toBe(true);
  });

  it('is not fooled by values and longer names', () => {
    expect(hasSessionCookie(undefined)).toBe(false);
    expect(hasSessionCookie('theme=sotto.session_token')).toBe(false);
    expect(hasSessionCookie('xsotto.session_token=a')).toBe(false);
  });
});
