import { type ProviderSet, readChatQuestion, readEmbeddingsQuestion } from '@sotto/confidential/testing';
import { type ChatTarget, loadAdapter } from '@sotto/providers';
import { readJsonBody } from '@sotto/server';
import { ServiceError } from '@sotto/wire';
import { type CostlyBody, costlyBodies, plainText } from '../../../test/faults/hostile/costly-bodies.ts';

/**
 * Measures the time in ms that the broker needs to judge a body, from its bytes to the error, and to judge and
 * translate it. Compares it with the time to parse and write plain text of that size. Each figure is the fastest of
 * several runs. Up to 4 MiB, a request may take twice the time of plain text, or 50 ms; `!` marks those that exceed
 * both. `--quick` uses fewer sizes and runs.
 */
const quick = process.argv.includes('--quick');
const tries = quick ? 3 : 9;
const kib = 1024;
const sizes = (quick ? [256, 4096] : [64, 256, 512, 1024, 4096, 31 * 1024]).map((kibs) => kibs * kib);
const mostMs = 50;

const providers: ProviderSet = {
  get: () => undefined,
  publicIds: ['acme', 'acme/eu', 'beta'],
  isAvailable: () => false,
  close: async () => {},
};
const anthropic = await loadAdapter('anthropic');
/** Of all APIs that a chat is translated to, this one keeps the most of it. */
const target: ChatTarget = {
  upstreamModel: 'claude-opus-5',
  maxOutputTokens: 100,
  reasoning: undefined,
  dialect: { max_tokens_field: 'max_tokens', extra_body: {}, reasoning_off: {} },
  extraBody: {},
};

function judge(path: CostlyBody['path'], bytes: Buffer): number {
  try {
    const body = readJsonBody(bytes);
    if (path === '/embeddings') readEmbeddingsQuestion(body);
    else anthropic.chatRequest(readChatQuestion(body, providers).chat, target);
    return 200;
  } catch (error) {
    if (error instanceof ServiceError && error.status < 500) return error.status;
    throw error;
  }
}

function quickest(act: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries; at += 1) {
    const began = performance.now();
    act();
    least = Math.min(least, performance.now() - began);
  }
  return least;
}

const plainMs = sizes.map((size) => {
  const bytes = Buffer.from(plainText.make('a/b', size));
  return quickest(() => Buffer.from(JSON.stringify(JSON.parse(bytes.toString('utf8')))));
});

const row = (name: string, cells: readonly string[]): void =>
  console.log(name.padEnd(44) + cells.map((cell) => cell.padStart(20)).join(''));
row(
  '',
  sizes.map((size) => `${size / kib} KiB`),
);
row(
  '(plain text parsed and written)',
  plainMs.map((ms) => ms.toFixed(2)),
);
let tooSlow = 0;
for (const body of [plainText, ...costlyBodies]) {
  const cells = sizes.map((size, at) => {
    const bytes = Buffer.from(body.make('a/b', size));
    const status = judge(body.path, bytes);
    const ms = quickest(() => judge(body.path, bytes));
    const ratio = ms / (plainMs[at] ?? 1);
    const isSlow = ratio > 2 && ms > mostMs;
    if (isSlow) tooSlow += 1;
    return `${status} ${ms.toFixed(2)} ${ratio.toFixed(1)}x${isSlow ? '!' : ''}`;
  });
  row(body.name, cells);
}
console.log(`${tooSlow} above ${mostMs} ms and twice plain text`);
