import { expect, it } from 'vitest';
import { answerFrom } from '../answer.ts';
import { simulatedKeySet } from '../gateway/testing/simulated-evidence.ts';
import { checkReceipts } from './check-receipts.ts';
import type { EnclaveExchange } from './enclave-exchange.ts';

// A broker that changed the reply would rather show a receipt that nobody can read than one that fails.
it.each([
  ['an unreadable receipt of the broker fails', '<html>', 200, [expect.objectContaining({ outcome: 'failed' })]],
  ['a receipt that is null fails', 'null', 200, [expect.objectContaining({ outcome: 'failed' })]],
  ['a receipt that the broker does not have is none', '{}', 404, undefined],
])('%s', async (_, body, status, first) => {
  const exchange: EnclaveExchange = {
    ...{ model: 'm', provider: 'p', requestSha256: '1'.repeat(64), responseSha256: '2'.repeat(64) },
    key: { family: 'tinfoil' } as EnclaveExchange['key'],
    keySet: simulatedKeySet({ origin: 'https://b.example' }),
  };
  const session = { send: async () => answerFrom(new Response(body, { status })) };
  const { broker } = await checkReceipts({ session, exchange, secret: '3'.repeat(64) });
  expect(broker?.slice(0, 1)).toEqual(first);
});
