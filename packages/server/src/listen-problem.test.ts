import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { listenProblem } from './listen-problem.ts';

/** Returns the error of listening there, or undefined. */
function listen(port: number, host: string): Promise<unknown> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

describe('listenProblem', () => {
  it('names the port if another process has it', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0;
    const problem = listenProblem(await listen(port, '127.0.0.1'), 'CONTROL_PORT');
    await new Promise((resolve) => other.close(resolve));
    expect(problem).toBe(`CONTROL_PORT is \`${port}\`: another process listens there; choose a free one`);
  });

  it.each(['192.0.2.1', 'no-such-host.invalid'])(
    'names HOST if this machine does not have the address: %s',
    async (host) => {
      const problem = listenProblem(await listen(0, host), 'CONTROL_PORT');
      expect(problem).toBe(
        `HOST is \`${host}\`: this machine has no such address; it takes one that it has, or 0.0.0.0 for all`,
      );
    },
  );

  it('names the port if this process may not use it', () => {
    const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES', port: 80 });
    expect(listenProblem(refused, 'METRICS_PORT')).toMatch(/^METRICS_PORT is `80`: .* choose one above 1023$/);
  });

  it.each([new Error('no code'), Object.assign(new Error('x'), { code: 'ENOENT' }), undefined, 'EADDRINUSE'])(
    'returns undefined for %s',
    (error) => expect(listenProblem(error, 'CONTROL_PORT')).toBeUndefined(),
  );
});
