import { headerNames, parseJson } from '@sotto/wire';
import { readBounded } from '../bounded-body.ts';
import type { GatewaySession } from '../gateway/gateway-session.ts';
import { readReceiptCharge } from './receipt-charge.ts';

/** Pauses before each try, in ms: a charge is settled shortly after its answer has ended. */
const pausesMs = [0, 250, 1000, 4000];
const maxReceiptBytes = 256 * 1024;

/**
 * Fetches the receipt of a request from the broker, by the secret that was sent with it. Control is not asked, because it
 * would see a key beside the request. Returns undefined if there is no receipt with a charge, or if the signal aborts.
 */
export async function fetchReceipt(
  session: Pick<GatewaySession, 'send'>,
  secret: string,
  signal: AbortSignal,
): Promise<unknown> {
  const headers = { [headerNames.receipt]: secret };
  for (const pauseMs of pausesMs) {
    await pause(pauseMs, signal);
    if (signal.aborted) return undefined;
    try {
      const answer = await session.send({ method: 'GET', path: '/v1/inference/receipt', headers, signal });
      const bytes = await readBounded(answer.body, maxReceiptBytes, signal);
      const receipt = answer.status === 200 ? parseJson(new TextDecoder().decode(bytes)) : undefined;
      const charge = receipt === undefined ? undefined : readReceiptCharge(receipt);
      if (typeof charge === 'object' && 'chargeNusd' in charge) return receipt;
    } catch {
      // A receipt is only proof of the charge. The run goes on without it.
    }
  }
  return undefined;
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });
