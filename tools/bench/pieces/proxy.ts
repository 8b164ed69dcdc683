import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { type Answer, startStandIn } from '../../../test/contract/own-client/stand-in.ts';
import { runSotto } from '../../../test/kit/run-sotto.ts';
import { cpuMicroseconds, percentile } from '../cpu.ts';
import { measureTranslation } from './translation.ts';

/**
 * Measures what `sotto proxy` adds to the first byte of a stream if tickets are ready, and its CPU per request. It
 * compares requests through the proxy with direct ones, in turns on one connection each. It does the same for Anthropic's
 * Messages, and measures their translation by itself. `--quick` uses fewer rounds.
 */
const rounds = process.argv.includes('--quick') ? 150 : 600;
const warmUp = 50;

const agent = new Agent({ keepAlive: true });
const body = JSON.stringify({
  model: 'acme/small',
  stream: true,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'x'.repeat(2000) }],
});

/** Returns the ms to the first byte of an answer's body. */
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
  response.end('data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n');
};

const service = await startStandIn();
service.onBroker(streamed);
const origins = ['--base-url', service.baseUrl, '--control-url', service.controlUrl];
const proxy = runSotto(['proxy', '--port', '0', '--open', '--allow-simulated', ...origins], {
  INFERENCE_KEY: 'sotto_inf_secret',
});
try {
  const [, baseUrl = ''] = await proxy.outMatches(/^(http:\S+)\n/);
  const pid = proxy.child.pid ?? 0;
  const taken: { readonly direct: number; readonly added: number; readonly translated: number }[] = [];
  let cpuBefore = cpuMicroseconds([pid]);
  for (let round = -warmUp; round < rounds; round += 1) {
    if (round === 0) cpuBefore = cpuMicroseconds([pid]);
    // Gives the client time to replace the used ticket.
    await setTimeout(30);
    const direct = await firstByteMs(`${service.baseUrl}/chat/completions`);
    const added = (await firstByteMs(`${baseUrl}/chat/completions`)) - direct;
    await setTimeout(30);
    const translated = (await firstByteMs(`${baseUrl}/messages`)) - direct;
    if (round >= 0) taken.push({ direct, added, translated });
  }
  const direct = taken.map((each) => each.direct);
  const added = taken.map((each) => each.added);
  const translated = taken.map((each) => each.translated);
  const shown = (values: number[]): string =>
    [50, 90, 99].map((at) => `p${at} ${percentile(values, at).toFixed(2)} ms`).join(', ');
  console.log(`first byte, straight to the service: ${shown(direct)}`);
  console.log(`added by sotto proxy:                ${shown(added)}`);
  console.log(`added for Anthropic's Messages:      ${shown(translated)}`);
  console.log(
    `CPU of the proxy a request: ${((cpuMicroseconds([pid]) - cpuBefore) / rounds / 2 / 1000).toFixed(2)} ms, its tickets included`,
  );
  measureTranslation(rounds / 10);
} finally {
  proxy.child.kill('SIGTERM');
  await proxy.ended;
  await service.stop();
  agent.destroy();
}
