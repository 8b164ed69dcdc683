import { Agent, request } from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { runSotto } from '../../test/contract/own-client/run-sotto.ts';
import { type Answer, startStandIn } from '../../test/contract/own-client/stand-in.ts';
import { cpuMicroseconds, percentile } from './cpu.ts';

/**
 * What `sotto proxy` adds to the first byte of a stream where tickets are ready, against the same request straight to the
 * service, in turns on one connection each; and the CPU that it takes for a request. `--quick`: fewer rounds.
 */
const rounds = process.argv.includes('--quick') ? 150 : 600;
const warmUp = 50;

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

const service = await startStandIn();
service.onBroker(streamed);
const origins = ['--base-url', service.baseUrl, '--control-url', service.controlUrl];
const proxy = runSotto(['proxy', '--port', '0', '--allow-simulated', ...origins], {
  SOTTO_API_KEY: 'sotto_inf_secret',
});
try {
  const [, baseUrl = ''] = await proxy.outMatches(/^(http:\S+)\n/);
  const pid = proxy.child.pid ?? 0;
  const taken: { readonly direct: number; readonly added: number }[] = [];
  let cpuBefore = cpuMicroseconds([pid]);
  for (let round = -warmUp; round < rounds; round += 1) {
    if (round === 0) cpuBefore = cpuMicroseconds([pid]);
    // Time for the ticket that was used to be replaced.
    await setTimeout(30);
    const direct = await firstByteMs(`${service.baseUrl}/chat/completions`);
    const added = (await firstByteMs(`${baseUrl}/chat/completions`)) - direct;
    if (round >= 0) taken.push({ direct, added });
  }
  const direct = taken.map((each) => each.direct);
  const added = taken.map((each) => each.added);
  const shown = (values: number[]): string =>
    [50, 90, 99].map((at) => `p${at} ${percentile(values, at).toFixed(2)} ms`).join(', ');
  console.log(`first byte, straight to the service: ${shown(direct)}`);
  console.log(`added by sotto proxy:                ${shown(added)}`);
  console.log(
    `CPU of the proxy a request: ${((cpuMicroseconds([pid]) - cpuBefore) / rounds / 1000).toFixed(2)} ms, its tickets included`,
  );
} finally {
  proxy.child.kill('SIGTERM');
  await proxy.ended;
  await service.stop();
  agent.destroy();
}
