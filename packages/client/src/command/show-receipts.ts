import { checkReceipts, type ReceiptCheck, type ReceiptsAsked } from '../enclave/check-receipts.ts';
import { ClientError } from '../errors.ts';

/**
 * Shows the hashes of an encrypted exchange and the checks of its receipts. Returns whether every receipt that there should
 * be passed: a broker that changed the reply would rather withhold one.
 */
export async function showReceipts(asked: ReceiptsAsked, show: (line: string) => void): Promise<boolean> {
  const { requestSha256, responseSha256 } = asked.exchange;
  show(`request ciphertext    sha256 ${requestSha256}`);
  show(`reply ciphertext      sha256 ${responseSha256}`);
  try {
    const { broker, enclave } = await checkReceipts(asked);
    show(`receipt of the broker: ${broker === undefined ? 'there is none' : conclusion(broker)}`);
    const ofEnclave =
      enclave === 'none'
        ? 'this provider signs none that this command verifies'
        : enclave === undefined
          ? 'it did not come in half a minute'
          : conclusion(enclave);
    show(`receipt of the enclave: ${ofEnclave}`);
    return [broker, ...(enclave === 'none' ? [] : [enclave])].every(
      (checks) => checks !== undefined && !checks.some(hasFailed),
    );
  } catch (error) {
    if (asked.signal?.aborted) return true;
    show(`receipts: ${error instanceof ClientError ? `${error.code}: ${error.message}` : 'the connection failed'}`);
    return false;
  }
}

const hasFailed = ({ outcome }: ReceiptCheck): boolean => outcome === 'failed';

function conclusion(checks: readonly ReceiptCheck[]): string {
  const open = checks.flatMap((check) =>
    check.outcome === 'passed'
      ? []
      : [`${check.outcome === 'failed' ? 'FAILED' : 'skipped'} ${check.name}: ${check.reason}`],
  );
  return open.length === 0 ? 'passed' : open.join('; ');
}
