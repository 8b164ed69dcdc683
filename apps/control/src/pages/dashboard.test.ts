import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from '@sotto/server';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openDashboard } from './dashboard.ts';

let folder: string;
let app: FastifyInstance;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sotto-test-dashboard-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html><title>the page</title>');
  await writeFile(join(folder, 'assets', 'index-Ab_1.js'), 'export {};');
  const dashboard = openDashboard({ folder, confidentialOrigin: 'http://127.0.0.1:4001' });
  const options = { bodyLimit: 1024, maxHeaderBytes: 16_384, trustProxy: false, onUnexpected: () => {} } as const;
  const others = { isOpenToPages: () => false, onShed: () => {} };
  app = createServer({ ...options, ...others, answerUnknown: dashboard.answer });
  await dashboard.register(app);
});
afterAll(async () => {
  await app?.close();
  await rm(folder, { recursive: true, force: true });
});

const html = { accept: 'text/html' };

describe('the dashboard', () => {
  it('serves its files as cacheable', async () => {
    const answer = await app.inject('/assets/index-Ab_1.js');
    expect([answer.statusCode, answer.body]).toEqual([200, 'export {};']);
    expect(answer.headers['cache-control']).toContain('immutable');
  });

  it.each([
    '/',
    '/keys',
    '/assets/..%2findex.html',
    '/assets/%2e%2e/index.html',
    '/assets/../index.html',
    '/assets/..%5cindex.html',
    '/index.html',
  ])('never serves a page without its policy, or as cacheable: %s', async (url) => {
    const answer = await app.inject({ url, headers: html });
    expect(answer.headers['content-security-policy']).toMatch(/script-src 'self'; .*frame-ancestors 'none'/);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it.each(['/assets/gone.js', '/assets/..%2findex.html', '/assets/%2e%2e%2f%2e%2e%2fpackage.json', '/assets/'])(
    'says in the envelope that there is no such file: %s',
    async (url) => {
      const answer = await app.inject(url);
      expect([answer.statusCode, answer.json().error?.type]).toEqual([404, 'not_found']);
      expect(answer.headers['cache-control']).toBe('no-store');
    },
  );
});
