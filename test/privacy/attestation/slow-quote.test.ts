import { TdxMachine } from '@sotto/attestation/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { type OwnBroker, sharedSecrets, startOwnBroker } from '../../kit/own-broker.ts';
import { post } from '../../kit/send.ts';
import { type TestAccount, until } from '../../kit/service.ts';
import { describeStage } from '../../kit/stage/describe-stage.ts';
import { oneModel } from '../../kit/stage/one-model.ts';
import type { ConfigfsStandIn } from './configfs-stand-in.ts';
import { freshNonce, tdxGuest } from './world.ts';

const secrets = sharedSecrets();

await describeStage(
  'chat beside a slow quote',
  { ...oneModel, environment: secrets },
  (stage) => {
    let account: TestAccount;
    let broker: OwnBroker;
    let configfs: ConfigfsStandIn;
    beforeAll(async () => {
      const { service } = stage;
      account = await service.createAccount();
      const guest = await tdxGuest(await TdxMachine.make());
      configfs = guest.configfs;
      const redisUrl = service.redisUrl ?? '';
      broker = await startOwnBroker({
        redisUrl,
        registry: stage.files.registry,
        secrets,
        now: Date.now,
        producer: guest.producer,
      });
    });
    afterAll(async () => {
      await broker?.stop();
      await configfs?.stop();
    });

    it('a slow quote delays no chat request', async () => {
      const { asked: before } = configfs;
      const release = configfs.hold();
      let isQuoted = false;
      const quote = fetch(`${broker.baseUrl}/gateway/attestation?nonce=${freshNonce()}`).then(async (answer) => {
        isQuoted = true;
        expect(answer.status, await answer.text()).toBe(200);
      });
      await until(() => configfs.asked > before, 'the quote is asked for');
      for (let asked = 0; asked < 5; asked += 1) {
        const body = { model: 'm/one', messages: [{ role: 'user', content: 'hello' }] };
        const { status, text } = await post(`${broker.baseUrl}/chat/completions`, body, bearer(account.inferenceKey));
        expect(status, text).toBe(200);
      }
      expect(isQuoted).toBe(false);
      release();
      await quote;
    });
  },
  { planes: ['two'] },
);
