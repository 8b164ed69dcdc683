import { until } from '@sotto/test-servers';
import { beforeAll, it } from 'vitest';
import { bearer, ticketHeader } from '../../kit/client.ts';
import { startEnclaves } from '../../kit/enclaves/start-enclaves.ts';
import type { TestAccount } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { callerOf, hex } from './described-service.ts';
import { DescribedOrigin } from './description.ts';

/** The operations that only providers in enclaves have, on a service of their own. */
export const describeEnclaves = (): Promise<void> =>
  describeStage(
    'providers in enclaves, by the description',
    startEnclaves,
    (stage) => {
      let account: TestAccount;
      let control: DescribedOrigin;
      let broker: DescribedOrigin;
      const toControl = callerOf(() => control);
      const toBroker = callerOf(() => broker);

      beforeAll(async () => {
        const { service } = stage;
        control = await DescribedOrigin.load(new URL(service.controlUrl).origin);
        broker = await DescribedOrigin.load(new URL(service.baseUrl).origin);
        account = await service.createAccount();
      });

      it.each(['near', 'phala-aci', 'tinfoil', 'chutes', 'venice', 'phala-vllm-proxy'])(
        'gives evidence of %s, with a key and by ticket',
        async (kind) => {
          const headers = bearer(account.inferenceKey);
          const model = `tee/${kind}`;
          await toControl('getProviderEvidence', 200, { headers, query: `?model=${model}&nonce=${hex(32)}` });
          const { json } = await toControl('createAttestationTicket', 200, { headers, body: { model } });
          const ticket = ticketHeader((json as { ticket: string }).ticket);
          await toBroker('createProviderEvidence', 200, { headers: ticket, body: { nonce: hex(32) } });
          await toBroker('createProviderEvidence', 401, { headers: ticket, body: { nonce: hex(32) } });
        },
      );

      it("has an enclave's own receipt", async () => {
        const headers = bearer(account.inferenceKey);
        const secret = { 'x-router-receipt': hex(32) };
        const body = { model: 'tee/near', messages: [{ role: 'user', content: 'Hello' }] };
        const answer = await toBroker('createChatCompletion', 200, { headers: { ...headers, ...secret }, body });
        const providerRequestId = answer.headers.get('x-router-provider-request-id') ?? '';
        const asked = { headers, parameters: { providerRequestId } };
        await until(async () => {
          const found = await fetch(`${stage.service.controlUrl}/tee/signature/${providerRequestId}`, { headers });
          return found.status === 200;
        }, 'the receipt is there');
        await toControl('getProviderReceipt', 200, asked);
        await toBroker('getEnclaveReceipt', 200, { headers: secret });
        await toBroker('getEnclaveReceipt', 404, { headers: { 'x-router-receipt': hex(32) } });
      });
    },
    { planes: ['one'] },
  );
