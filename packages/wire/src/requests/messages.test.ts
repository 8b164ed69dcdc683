import { describe, expect, it } from 'vitest';
import { ServiceError } from '../errors.ts';
import { chatRequestSchema } from './chat-request.ts';
import { parseRequest } from './parse-request.ts';

function refusalOf(url: string): ServiceError | undefined {
  const content = [{ type: 'image_url', image_url: { url } }];
  try {
    parseRequest(chatRequestSchema, { model: 'acme/small', messages: [{ role: 'user', content }] });
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

describe('the address of an image', () => {
  it.each([
    'https://example.com/a.png',
    'HTTPS://example.com/a?b=c#d',
    'data:image/png;base64,iVBORw0KGgo=',
    'data:image/jpg;base64,/9j/',
    'DATA:IMAGE/WEBP;BASE64,UklG',
    'data:image/heic;name=photo.heic;base64,AAAA',
  ])('may be %s', (url) => {
    expect(refusalOf(url)).toBeUndefined();
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/', /, not `http:`/],
    ['file:///etc/passwd', /, not `file:`/],
    ['FILE:///etc/passwd', /, not `file:`/],
    ['gopher://example.com:6379/_x', /, not `gopher:`/],
    ['ftp://example.com/a.png', /, not `ftp:`/],
    ['s3://bucket/a.png', /, not `s3:`/],
    ['canary://example.com', /image\.$/],
    ['example.com/a.png', /image\.$/],
    ['//example.com/a.png', /image\.$/],
    ['https:example.com', /image\.$/],
    ['https://', /image\.$/],
    [' https://example.com', /image\.$/],
    ['https://example.com/a\nb', /image\.$/],
    ['https:\\\\example.com', /image\.$/],
    ['', /image\.$/],
    ['data:text/html;base64,PGI+', /such as `data:image\/png;base64,…`/],
    ['data:image/svg+xml;base64,PHN2Zz4=', /such as/],
    ['data:image/png,AAAA', /such as/],
    ['data:image/png;base64', /such as/],
    ['data:image/x;base64,AAAA', /such as/],
    ['data:image/../../etc;base64,AAAA', /such as/],
    ['data:;base64,AAAA', /such as/],
  ])('is not %s', (url, message) => {
    const error = refusalOf(url);
    expect(error?.type).toBe('invalid_request');
    expect(error?.param).toBe('messages.0.content.0.image_url.url');
    expect(error?.message).toMatch(message);
    expect(error?.message).not.toMatch(/canary|passwd|example|169/);
  });
});
