import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runSotto } from './run-sotto.ts';
import { type Answer, startStandIn } from './stand-in.ts';

const agent = new Agent({ keepAlive: true });
const body = JSON.stringify({
  model: 'acme/small',
  stream: true,
  messages: [{ role: 'user', content: 'x'.repeat(2000) }],
});

/** Milliseconds to the first byte of an answer's body. */
function firstByteMs(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const headers = { 'content-type': 'application/json', 'x-router-ticket': 'direct' };
    const asked = request(url, { agent, method: 'POST', headers }, (response) => {
      let first: number | undefined;
      response.on('data', () => {
        first ??= performance.now() - startedAt;
      });
      response.on('end', () => resolve(first ?? Number.POSITIVE_INFINITY));
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

const streamed: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write('data: {"choices":[{"index":0,"delta":{"content":"first"}}]}\n\n');
  response.end('data: [DONE]\n\n');
};

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

it('sotto proxy adds less than 2 ms to the first byte where tickets are ready', async () => {
  const service = await startStandIn();
  service.onBroker(streamed);
  const args = [
    'proxy',
    '--port',
    '0',
    '--allow-simulated',
    '--base-url',
    service.baseUrl,
    '--control-url',
    service.controlUrl,
  ];
  const proxy = runSotto(args, { SOTTO_API_KEY: 'sotto_inf_secret' });
  try {
    const [, baseUrl = ''] = await proxy.outMatches(/^(http:\S+)\n/);
    const rounds: { direct: number; proxied: number }[] = [];
    for (let round = 0; round < 152; round += 1) {
      await setTimeout(40);
      const direct = await firstByteMs(`${service.baseUrl}/chat/completions`);
      rounds.push({ direct, proxied: await firstByteMs(`${baseUrl}/chat/completions`) });
    }
    // The first rounds warm both ways up; of the rest the quietest third counts, on a machine that does other things too.
    const thirds = [50, 84, 118].map((from) => rounds.slice(from, from + 34));
    const added = Math.min(...thirds.map((third) => median(third.map(({ direct, proxied }) => proxied - direct))));
    const alone = median(rounds.slice(50).map(({ direct }) => direct));
    console.log(`first byte: ${alone.toFixed(2)} ms direct, ${added.toFixed(2)} ms added by sotto proxy`);
    expect(added).toBeLessThan(2);
  } finally {
    proxy.child.kill('SIGKILL');
    await proxy.ended;
    await service.stop();
  }
});
