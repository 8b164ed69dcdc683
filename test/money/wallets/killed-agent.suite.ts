import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { expectRightAfterKills } from '../../kit/killed-agent.ts';
import { answerChat, type FakeProvider } from '../../kit/provider.ts';
import type { TestRelay } from '../../kit/relay.ts';
import type { Service } from '../../kit/service.ts';
import type { TestIssuer } from '../../kit/wallets.ts';

/** What the suite uses of the service: one that issues credits, with a model `m/dear`. */
interface IssuingStage {
  readonly service: Service;
  readonly standIns: { readonly issuer: TestIssuer; readonly relay: TestRelay };
  provider(id: 'alpha'): FakeProvider;
}

/** An agent that asks five times, and reads streams. */
const agent = `#!${process.execPath}
const { ANTHROPIC_BASE_URL: url, ANTHROPIC_AUTH_TOKEN: token } = process.env;
const body = JSON.stringify({ model: 'm/dear', max_tokens: 50, stream: true, messages: [{ role: 'user', content: 'Hello' }] });
const headers = { 'content-type': 'application/json', authorization: 'Bearer ' + token };
(async () => {
  for (let at = 0; at < 5; at += 1) {
    const answer = await fetch(url + '/v1/messages', { method: 'POST', headers, body });
    console.log(answer.status, (await answer.text()).includes('message_stop'));
  }
})();`;

export function killedAgent(stage: IssuingStage): void {
  // Killed before a batch is stored, asked for, signed or stored again; before and after a deposit and a closing; while a ticket is minted,
  // content is on its way, and an answer is read. Each leaves another state of the purse, of the wallet and of its holds.
  it('an agent pays with a purse that bought by schedule, and kill -9 at random moments loses and doubles nothing', async () => {
    const alpha = stage.provider('alpha');
    alpha.answer(answerChat({ pieceMs: 5 }));
    const { out } = await expectRightAfterKills({
      ...{ service: stage.service, ...stage.standIns, seen: () => alpha.seen.length },
      ...{ model: 'm/dear', seed: 56, kills: 4 },
      async prepare(home) {
        await writeFile(join(home, 'claude'), agent, { mode: 0o755 });
        return { args: [], environment: { PATH: `${home}:${process.env.PATH ?? ''}` } };
      },
    });
    expect(out).toBe('200 true\n'.repeat(5));
  });
}
