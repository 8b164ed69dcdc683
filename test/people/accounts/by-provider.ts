/** Control with a real OpenID provider beside it, whose people and groups a test decides. */

import { randomUUID } from 'node:crypto';
import { freePort } from '@sotto/test-servers';
import { afterAll } from 'vitest';
import { type OpenidServer, openidAt, startProvider, throughProvider } from './openid-server.ts';
import { type AccountsWorld, type Answer, useWorld, type Visitor, type WorldOptions } from './world.ts';

export interface ByProvider {
  readonly world: AccountsWorld;
  readonly openid: ReturnType<typeof openidAt>;
  readonly provider: OpenidServer;
  /** The groups of each person, by the address. Tests change them. */
  readonly groups: Map<string, readonly string[]>;
  /** Signs in with the provider, as the person with this address, which is also the subject. */
  signInAs(email: string, visitor?: Visitor): Promise<{ visitor: Visitor; back: Answer }>;
  /** Begins the same, and returns the step that completes it. */
  arrive(email: string, visitor?: Visitor): Promise<{ visitor: Visitor; finish: () => Promise<Answer> }>;
}

/** Opens a world for the tests of the surrounding suite. It ends after them. */
export async function useProvider(
  options: WorldOptions | ((openid: ByProvider['openid']) => Promise<WorldOptions>) = {},
): Promise<ByProvider> {
  const port = await freePort();
  const openid = openidAt(port);
  const world = await useWorld({ openid, ...(typeof options === 'function' ? await options(openid) : options) });
  const groups = new Map<string, readonly string[]>();
  let who = '';
  const provider = await startProvider(
    port,
    `${world.origin}/v1/auth/callback/openid`,
    () => who,
    (email) => email,
    (email) => groups.get(email) ?? [],
  );
  afterAll(() => provider.stop());
  const arrive: ByProvider['arrive'] = async (email, visitor = world.visitor()) => {
    who = email;
    const { json } = await visitor.post('/auth/sign-in/social', {
      ...{ provider: 'openid', callbackURL: '/', errorCallbackURL: '/sign-in' },
    });
    const callback = (await throughProvider(json.url)).replace(/^.*\/v1\//, '/');
    return { visitor, finish: () => visitor.get(callback) };
  };
  return {
    ...{ world, openid, provider, groups, arrive },
    async signInAs(email, given) {
      const { visitor, finish } = await arrive(email, given);
      return { visitor, back: await finish() };
    },
  };
}

export const freshAddress = (): string => `${randomUUID().slice(0, 8)}@work.example`;
